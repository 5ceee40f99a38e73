//! Hugging Face's Trainer (`src/transformers/trainer_callback.py`): `ProgressCallback` shows a tqdm
//! bar that counts training steps, and prints the values of `trainer.py`'s `log` beside it:
//!
//! ```text
//!   2%|▎         | 10/400 [01:17<13:02,  2.01s/it]{'loss': 4.7883, 'learning_rate': 4.8e-05, ...}
//! ```
//!
//! The values name an epoch but no training step, so the bar is used. Bars of evaluation look the
//! same, but have another total and no loss after them. A bar's elapsed time is in whole seconds,
//! too coarse to use.

use super::line::{Dialect, TrainingStepLine, has_loss, leading_number, trailing_number};

/// Finds every bar in a line.
pub(super) fn read(text: &str, mut found: impl FnMut(TrainingStepLine)) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" [") {
        if let Some((number, total)) = counts(before).filter(|_| is_clock(after)) {
            let next_bar = after.find(" [").unwrap_or(after.len());
            let own = after.get(..next_bar).unwrap_or(after);
            found(TrainingStepLine {
                dialect: Dialect::Trainer,
                number,
                total: Some(total),
                stamp: None,
                length_ns: None,
                has_loss: has_loss(own),
            });
        }
        rest = after;
    }
}

/// `... | 10/400`.
fn counts(before: &str) -> Option<(u64, u64)> {
    let (rest, total) = trailing_number(before)?;
    let (rest, number) = trailing_number(rest.strip_suffix('/')?)?;
    let is_bar = rest.trim_end().ends_with('|');
    (is_bar && (1..=total).contains(&number)).then_some((number, total))
}

/// `01:17<13:02`, `1:01:17<?`.
fn is_clock(after: &str) -> bool {
    let Some((elapsed, _)) = after.split_once('<') else { return false };
    let parts = elapsed.split(':').count();
    let are_numbers = elapsed
        .split(':')
        .all(|part| leading_number(part).is_some_and(|(_, rest)| rest.is_empty()));
    (2..=3).contains(&parts) && are_numbers
}
