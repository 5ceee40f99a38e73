//! DeepSpeed: `_report_progress` in `deepspeed/runtime/engine.py` and `ThroughputTimer` in
//! `deepspeed/utils/timer.py`, through the logger of `deepspeed/utils/logging.py`:
//!
//! ```text
//! [2024-06-21 10:50:42,167] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[...
//! [2024-06-21 10:50:42,169] [INFO] [timer.py:260:stop] epoch=0/micro_step=10/global_step=10, ...
//! ```
//!
//! every `steps_per_print` training steps. The number counts completed training steps; 0 announces
//! the first learning rate, before any.

use super::line::{Dialect, TrainingStepLine, leading_number};
use super::stamp::Stamp;

/// Parses a line; `None` if it is not DeepSpeed's.
pub(super) fn read(text: &str) -> Option<TrainingStepLine> {
    let progress = || {
        let (before, rest) = text.split_once("] step=")?;
        let (number, rest) = leading_number(rest)?;
        rest.starts_with(", skipped=").then_some((before, number))
    };
    let throughput = || {
        let (before, rest) = text.split_once("/global_step=")?;
        let (number, rest) = leading_number(rest)?;
        rest.starts_with(", RunningAvgSamplesPerSec").then_some((before, number))
    };
    let (before, number) = progress().or_else(throughput).filter(|(_, number)| *number > 0)?;
    Some(TrainingStepLine {
        dialect: Dialect::DeepSpeed,
        number,
        total: None,
        stamp: Stamp::last_in_brackets(before),
        length_ns: None,
        has_loss: false,
    })
}
