//! Metrics: the totals of reports, and their text.

mod activity;
mod catalogue;
mod cuts;
mod figures;
mod made_up;
mod ports;
mod prometheus;
mod registry;
mod rules;
