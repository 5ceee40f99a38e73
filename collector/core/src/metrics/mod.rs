//! Metrics: a catalogue, and points for OTLP and Prometheus alike.
//!
//! Each fact has one route: flows, ports, NICs and calls come from state; training steps,
//! collectives, waits and findings from [`Understanding`](crate::analysis::understanding). State
//! and `Understanding` have totals, metrics add the growth: [`accumulator`] counts every training
//! step and packet once, however often it looks. An unknown value has no point, rather than a point
//! of 0.

pub mod accumulator;
mod activity;
pub mod attribute;
pub mod backdated;
mod calls;
pub mod catalog;
mod collectives;
mod findings;
mod flow_sums;
mod flows;
mod growth;
mod headers;
mod health;
pub mod metric;
mod nics;
pub mod own;
mod pauses;
pub mod point;
mod port_names;
mod ports;
mod profiles;
pub mod queries;
pub mod series;
mod sockets;
mod training_steps;
mod verdicts;
mod waits;

use std::collections::BTreeSet;
use std::net::IpAddr;

/// Optional attributes, which multiply series, and the ports to export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Export communicators and ranks.
    pub ranks: bool,
    /// Export the rank at the other end.
    pub peers: bool,
    /// Export NCCL's channels.
    pub channels: bool,
    /// Addresses of the ports whose traffic is exported; `None` for all. An agent exports its own
    /// ports, so that agents on two hosts do not export the same packets.
    pub ports: Option<BTreeSet<IpAddr>>,
}
