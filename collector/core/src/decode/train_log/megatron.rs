//! Megatron-LM (`training_log` in `megatron/training/training.py`):
//!
//! ```text
//!  [2024-05-01 12:34:56] iteration       10/     100 | consumed samples:          160 |
//!  elapsed time per iteration (ms): 120.5 | learning rate: 1.500000E-04 | ...
//! ```
//!
//! one line every `--log-interval` iterations; releases before 0.6 have no timestamp. The number
//! is that of the completed iteration; the time is the average since the previous line.

use super::line::{Dialect, TrainingStepLine, leading_number};
use super::stamp::Stamp;

const ELAPSED: &str = "elapsed time per iteration (ms):";

/// Parses a line; `None` if it is not Megatron's.
pub(super) fn read(text: &str) -> Option<TrainingStepLine> {
    let (before, rest) = text.split_once("iteration ")?;
    let (number, rest) = leading_number(rest)?;
    let (total, rest) = leading_number(rest.trim_start().strip_prefix('/')?)?;
    let rest = rest.trim_start().strip_prefix('|')?;
    let (_, elapsed) = rest.split_once(ELAPSED)?;
    let milliseconds: f64 = elapsed.split('|').next()?.trim().parse().ok()?;
    let is_time = milliseconds.is_finite() && (0.0..1e12).contains(&milliseconds);
    Some(TrainingStepLine {
        dialect: Dialect::Megatron,
        number,
        total: Some(total),
        stamp: Stamp::last_in_brackets(before),
        length_ns: is_time.then_some((milliseconds * 1e6) as u64),
        has_loss: false,
    })
}
