//! Where the agent's data comes from. Each source is a folder of one shape:
//!
//! * `mod.rs` implements `Source`: its setting, how it opens, what it delivers and what it costs.
//! * `needs.rs` says what it needs of the kernel and of this process.
//! * Other files as it needs them.
//!
//! The settings layer comes before the agent, so a source's settings, if any, are in
//! `config/NAME.rs`. Its test is `tests/agent/source/NAME.rs`. `cargo xtask tidy` checks the shape.
//!
//! `SOURCES` is the only list of them. The agent opens and reads what is in it, `agent --check`
//! goes through it, and `railscope.source.visible` and `/readyz` show what the sources report.

pub mod check;

pub(super) mod packets;
pub(super) mod queue_pairs;
pub(super) mod running;
pub(super) mod visibility;

mod beside;
mod calls;
mod connections;
mod contract;
mod counters;
mod probes;
mod processes;
mod profiles;
mod ras;
mod sflow;

use self::contract::Source;

/// Every source, in the order of `agent --check`.
static SOURCES: [&dyn Source; 9] = [
    &packets::Packets,
    &connections::Connections,
    &calls::Calls,
    &queue_pairs::QueuePairs,
    &counters::Counters,
    &processes::Processes,
    &ras::Ras,
    &sflow::Sflow,
    &profiles::Profiles,
];
