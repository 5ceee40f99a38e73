//! Counters of NICs: what their names mean, and lines of files that hold them.

pub mod line;
pub mod measure;
pub mod reading;

mod names;
