//! Faults of a scenario, each at a named place and time.
//!
//! A rank belongs to job 0 unless a job is named. Training steps count from 0, and ranges include
//! both ends; no range means all. Times are virtual time since the start of the simulation.

use serde::Deserialize;

use super::quantity::{Rate, Share, Time};

/// A rank starts its part of a training step late.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Straggler {
    /// Index of the job, from 0.
    #[serde(default)]
    pub job: u32,
    /// The late rank.
    pub rank: u32,
    /// Extra time per training step.
    pub delay: Time,
    /// What is slow.
    pub cause: StragglerCause,
    /// First and last training step.
    pub iterations: Option<[u32; 2]>,
}

/// What makes a rank late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StragglerCause {
    /// The GPU computes longer.
    Compute,
    /// The CPU enqueues the work later, as with a slow data loader. If the CPU runs ahead, delays
    /// shorter than its lead have no effect.
    Enqueue,
}

/// A rank's GPU is slow to use what it received.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowReceiver {
    /// Index of the job, from 0.
    #[serde(default)]
    pub job: u32,
    /// The slow rank.
    pub rank: u32,
    /// Extra time per message.
    pub delay: Time,
    /// First and last training step.
    pub iterations: Option<[u32; 2]>,
}

/// A link drops packets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// The port that sends into the link: `host1`, `leaf0:uplink1`.
    pub port: String,
    /// Share of RoCE packets.
    pub share: Share,
    /// Only packets to this NIC: `host2`, or `host2:mlx5_1`.
    pub to: Option<String>,
    /// Only these packets.
    pub only: Option<LossKind>,
    /// Start.
    pub from: Option<Time>,
    /// End.
    pub until: Option<Time>,
}

/// What lost packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Data and clear-to-sends.
    Data,
    /// ACKs and NAKs.
    Acks,
}

/// A link holds up some packets, so that later ones overtake them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// The port that sends into the link: `host1`, `leaf0:uplink1`.
    pub port: String,
    /// Share of RoCE packets.
    pub share: Share,
    /// By how much they are held up.
    pub delay: Time,
    /// Start.
    pub from: Option<Time>,
    /// End.
    pub until: Option<Time>,
}

/// A link goes down and comes back: no traffic in either direction.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flap {
    /// The port at either end: `host1`, `leaf0:uplink1`.
    pub port: String,
    /// Start.
    pub from: Time,
    /// End.
    pub until: Time,
}

/// Traffic outside the jobs: datagrams without rate control.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Sending NIC: `host5`, or `host5:mlx5_1`.
    pub sender: String,
    /// Receiving NIC.
    pub receiver: String,
    /// Average rate.
    pub rate: Rate,
    /// DSCP of its datagrams: 26 shares RoCE's queues.
    #[serde(default)]
    pub dscp: u8,
    /// Start.
    pub from: Option<Time>,
    /// End.
    pub until: Option<Time>,
}

/// A NIC passes on received data more slowly than its link, as over a degraded PCIe link: it pauses
/// the switch by PFC.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowNic {
    /// The NIC: `host2`, or `host2:mlx5_1`.
    pub nic: String,
    /// How fast it passes on received data.
    pub rate: Rate,
    /// Start.
    pub from: Option<Time>,
    /// End.
    pub until: Option<Time>,
}

/// A NIC sends pause frames continuously, whatever it has received.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseStorm {
    /// The NIC: `host2`, or `host2:mlx5_1`.
    pub nic: String,
    /// Start.
    pub from: Time,
    /// End.
    pub until: Time,
}

/// A rank takes no part any more, from a moment on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Halt {
    /// Index of the job, from 0.
    #[serde(default)]
    pub job: u32,
    /// The rank.
    pub rank: u32,
    /// When.
    pub from: Time,
    /// What stops.
    pub what: HaltKind,
}

/// What of a rank stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltKind {
    /// Its process is gone, with its queue pairs: the NIC drops what arrives for them.
    Killed,
    /// Its process is stopped; its NIC goes on to acknowledge.
    Stopped,
    /// It calls no more collectives.
    Calls,
    /// Its GPU runs no kernel any more: it neither sends nor makes room.
    Gpu,
    /// Its proxy sends no more data.
    Data,
    /// Its proxy offers no more room.
    Room,
    /// Its first queue pair for data of the previous rank is in error: it neither sends nor answers.
    QueuePair,
    /// Its queue pairs have no receive posted for data: every message is refused (RNR NAK).
    Receives,
    /// From then on it calls Broadcast of a few numbers where the others call AllReduce.
    OtherCall,
    /// From then on it calls AllReduce of a few numbers where the others reduce a bucket.
    OtherSize,
}

/// The ranks of a host send with a different DSCP.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongDscp {
    /// Its name: `host2`.
    pub host: String,
    /// The DSCP that its ranks use, 0 to 63.
    pub dscp: u8,
}

/// A link clears the ECN field of its packets, as a misconfigured tunnel does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotEct {
    /// The port that sends into the link.
    pub port: String,
}
