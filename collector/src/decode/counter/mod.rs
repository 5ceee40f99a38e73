//! Counters of NICs as exporters write them down: names and lines.

pub mod line;
pub mod measure;
