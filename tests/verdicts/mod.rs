//! Verdicts: the first line of a report is the cause.

mod again;
mod at_source;
mod jitter;
mod job;
mod late;
mod outages;
mod paused;
mod profiles;
mod recorded;
mod simulated;
mod sprayed;
