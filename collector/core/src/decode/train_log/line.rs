//! A line that counts a training step, and the numbers in it.

use super::stamp::Stamp;

/// A supported framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Progress bars of Hugging Face's Trainer (tqdm).
    Trainer,
    /// Lines of DeepSpeed's `log_dist`.
    DeepSpeed,
    /// Megatron-LM and its derivatives.
    Megatron,
}

impl Dialect {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trainer => "trainer",
            Self::DeepSpeed => "deepspeed",
            Self::Megatron => "megatron",
        }
    }
}

/// A line that names a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingStepLine {
    /// The framework.
    pub dialect: Dialect,
    /// Completed training steps.
    pub number: u64,
    /// Total number of training steps.
    pub total: Option<u64>,
    /// When it was written, by its host's wall clock.
    pub stamp: Option<Stamp>,
    /// Average nanoseconds per training step since the previous line.
    pub length_ns: Option<u64>,
    /// Whether the bar shows training rather than evaluation: a loss follows.
    pub has_loss: bool,
}

/// Whether a line has a loss of Hugging Face's Trainer, which does not name a training step itself.
#[must_use]
pub fn has_loss(text: &str) -> bool {
    text.contains("{'loss':")
}

/// The number at the start of `text`, after spaces, and the text after it.
pub(super) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// The number at the end of `text`, and the text before it.
pub(super) fn trailing_number(text: &str) -> Option<(&str, u64)> {
    let before = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.get(before.len()..)?;
    Some((before, digits.parse().ok()?))
}
