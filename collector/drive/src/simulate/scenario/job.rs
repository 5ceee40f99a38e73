//! The training jobs of a scenario.

use serde::Deserialize;

use super::quantity::{Size, Time};
use crate::release::Release;

/// A training job: every training step computes, then reduces every gradient bucket (AllReduce over
/// rings).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// The hosts of its ranks, node by node in this order; empty: all hosts.
    pub hosts: Vec<u32>,
    /// Ranks per host. Channel c enters and leaves hosts on rail c modulo rails.
    pub gpus_per_host: u32,
    /// The NCCL release whose formats are used: `2.21.5` or `2.27.7`.
    #[serde(deserialize_with = "release")]
    pub nccl: Release,
    /// Rings that share each collective.
    pub channels: u32,
    /// `NCCL_IB_QPS_PER_CONNECTION`
    pub queue_pairs: u32,
    /// `NCCL_IB_TIMEOUT`: a NIC retransmits after 4.096 us times two to this power without an
    /// answer; at most 31.
    pub ib_timeout: u8,
    /// `NCCL_IB_RETRY_CNT`: consecutive retries.
    pub ib_retries: u8,
    /// When its processes start.
    pub start: Time,
    /// Training steps that are measured.
    pub iterations: u32,
    /// Training steps before those.
    pub warmup: u32,
    /// Gradient buckets of `float`, in reduction order.
    pub buckets: Vec<Size>,
    /// Compute time of a GPU per training step, forward and backward.
    pub compute: Time,
    /// Random variation per rank and training step, independent of all others.
    pub jitter: Time,
    /// How it is distributed.
    pub jitter_shape: JitterShape,
    /// When the CPU enqueues work.
    pub cpu: Cpu,
    /// Whether buckets are reduced while the rest of the backward pass is computed, as in DDP; else
    /// after it.
    pub overlap: bool,
    /// DSCP of RoCE data, from `NCCL_IB_TC`.
    pub dscp: u8,
    /// Interruptions of the training.
    pub pause: Vec<Pause>,
}

/// The distribution of random variation, in parts of `jitter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterShape {
    /// Even, from one less to one more.
    Uniform,
    /// Normal, with one as its standard deviation.
    Normal,
    /// Never less, usually half more, now and then many times as much: Pareto's, of exponent 2.5.
    HeavyTailed,
}

impl JitterShape {
    /// A random variation in nanoseconds.
    pub fn draw(self, jitter_ns: u64, random: &mut fastrand::Rng) -> i64 {
        let parts = match self {
            Self::Uniform => 2.0 * random.f64(),
            Self::Normal => {
                // Box and Muller.
                let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
                1.0 + radius * (std::f64::consts::TAU * random.f64()).cos()
            }
            Self::HeavyTailed => (1.0 - random.f64()).powf(-0.4),
        };
        (parts * jitter_ns as f64) as i64 - jitter_ns as i64
    }
}

/// When the CPU enqueues the work of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cpu {
    /// While the GPU works on the previous training step: the usual case.
    Ahead,
    /// Once the GPU has finished the previous training step: `loss.item()` in every step.
    Synchronous,
}

/// An interruption between two training steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The training step before it, from 0.
    pub after: u32,
    /// Its duration.
    pub time: Time,
    /// Why training stops.
    pub purpose: PausePurpose,
}

/// The purpose of an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PausePurpose {
    /// The model is evaluated, and one small AllReduce adds up the results.
    Evaluation,
    /// The model is written to disk; nothing is sent.
    Checkpoint,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            gpus_per_host: 1,
            nccl: Release::default(),
            channels: 2,
            queue_pairs: 1,
            ib_timeout: 18,
            ib_retries: 7,
            start: Time(0),
            iterations: 12,
            warmup: 1,
            buckets: vec![Size(512 << 10), Size(256 << 10)],
            compute: Time(8_000_000),
            jitter: Time(200_000),
            jitter_shape: JitterShape::Uniform,
            cpu: Cpu::Ahead,
            overlap: false,
            dscp: 26,
            pause: Vec::new(),
        }
    }
}

fn release<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Release, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}
