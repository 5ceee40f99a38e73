//! Verdicts: the first line of a report is the cause.

mod again;
mod recorded;
mod simulated;
mod sprayed;
