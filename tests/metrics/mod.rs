//! Metrics: the totals of reports, and their text.

mod catalogue;
mod cuts;
mod ports;
mod prometheus;
