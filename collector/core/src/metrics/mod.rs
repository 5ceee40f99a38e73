//! Reports as metrics: a catalogue of what is measured, and points, from which OTLP and Prometheus
//! are written alike.
//!
//! A report tells all that is known at a time; a metric tells what was added since, so that every
//! training step counts once, however often one looks. [`accumulator`] turns the one into the
//! other. What is not known has no point, which is not 0.

pub mod accumulator;
pub mod attribute;
pub mod backdated;
mod calls;
pub mod catalog;
mod collectives;
mod findings;
mod flow_sums;
mod flows;
mod growth;
mod health;
pub mod metric;
mod nics;
pub mod own;
mod pauses;
pub mod point;
mod port_names;
mod ports;
pub mod queries;
pub mod series;
mod training_steps;
mod waits;

use std::collections::BTreeSet;
use std::net::IpAddr;

/// What metrics are to have beyond what is always told. All of it multiplies series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Tell communicators and ranks apart.
    pub ranks: bool,
    /// Tell the rank at the other end apart.
    pub peers: bool,
    /// Tell NCCL's channels apart.
    pub channels: bool,
    /// Addresses of the ports whose traffic is told; `None`: of all. An agent tells its own, so that
    /// the agents of two hosts do not tell of the same packets.
    pub ports: Option<BTreeSet<IpAddr>>,
}
