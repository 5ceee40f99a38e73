//! What goes wrong in a scenario, each at a named place and time.
//!
//! A rank is one of job 0 where no job is named. Training steps count from 0, both ends of a range
//! count; none means all. Spans are virtual time since the simulation began.

use serde::Deserialize;

use super::quantity::{Rate, Share, Time};

/// A rank begins its part of a training step late.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Straggler {
    /// Its job.
    #[serde(default)]
    pub job: u32,
    /// Who.
    pub rank: u32,
    /// By how much.
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
    /// The CPU enqueues the work later, as behind a slow data loader. With the CPU ahead, what is
    /// shorter than its lead shows nowhere.
    Enqueue,
}

/// A rank's GPU takes long to use what it received.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowReceiver {
    /// Its job.
    #[serde(default)]
    pub job: u32,
    /// Who.
    pub rank: u32,
    /// Longer by this, each message.
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
    /// Of packets of RoCE.
    pub share: Share,
    /// From.
    pub from: Option<Time>,
    /// Until.
    pub until: Option<Time>,
}

/// A link goes down and comes back: nothing passes, both ways.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flap {
    /// One of its ports.
    pub port: String,
    /// From.
    pub from: Time,
    /// Until.
    pub until: Time,
}

/// Somebody else's traffic: datagrams that no rate control holds back.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// From this NIC: `host5`, or `host5:mlx5_1`.
    pub sender: String,
    /// To that NIC.
    pub receiver: String,
    /// How fast it sends, on average.
    pub rate: Rate,
    /// Of its datagrams: 26 shares the queues of RoCE.
    #[serde(default)]
    pub dscp: u8,
    /// From.
    pub from: Option<Time>,
    /// Until.
    pub until: Option<Time>,
}

/// A NIC hands on what it receives slower than its link, as over a degraded PCIe link: it stops the
/// switch by PFC.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowNic {
    /// Which: `host2`, or `host2:mlx5_1`.
    pub nic: String,
    /// How fast it is.
    pub rate: Rate,
    /// From.
    pub from: Option<Time>,
    /// Until.
    pub until: Option<Time>,
}

/// A NIC sends pause frames without end, whatever it has received.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseStorm {
    /// Which: `host2`, or `host2:mlx5_1`.
    pub nic: String,
    /// From.
    pub from: Time,
    /// Until.
    pub until: Time,
}

/// The ranks of a host send with another DSCP than the others.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongDscp {
    /// Which: `host2`.
    pub host: String,
    /// What it sends with.
    pub dscp: u8,
}

/// A link clears the ECN field of what it carries, as a badly configured tunnel does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotEct {
    /// The port that sends into the link.
    pub port: String,
}
