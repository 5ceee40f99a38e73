//! Links from traffic to ranks, against jobs whose ranks, processes and connections are known.

mod control;
mod dialects;
mod lanes;
#[cfg(feature = "drive")]
mod net_bootstrap;
mod position;
