//! The training jobs of a scenario.

use serde::Deserialize;

use super::quantity::{Size, Time};
use crate::release::Release;

/// A training job: every training step computes, then reduces every gradient bucket (AllReduce over
/// rings).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Where its ranks are, node by node in this order; empty: on all hosts.
    pub hosts: Vec<u32>,
    /// Ranks of each host. Channel c enters and leaves hosts by rail c modulo rails.
    pub gpus_per_host: u32,
    /// NCCL whose formats are spoken: `2.21.5` or `2.27.7`.
    #[serde(deserialize_with = "release")]
    pub nccl: Release,
    /// Rings that share each collective.
    pub channels: u32,
    /// `NCCL_IB_QPS_PER_CONNECTION`
    pub queue_pairs: u32,
    /// `NCCL_IB_TIMEOUT`: without an answer for 4.096 us times two to the power of it, a NIC sends
    /// again; at most 31.
    pub ib_timeout: u8,
    /// `NCCL_IB_RETRY_CNT`: so often in a row.
    pub ib_retries: u8,
    /// When its processes begin.
    pub start: Time,
    /// Training steps that count.
    pub iterations: u32,
    /// Training steps before.
    pub warmup: u32,
    /// In the order they are reduced, of `float`.
    pub buckets: Vec<Size>,
    /// A GPU's part of each training step, forward and backward.
    pub compute: Time,
    /// Up to this much more or less for each rank and training step, by chance.
    pub jitter: Time,
    /// What the CPU does while the GPU works.
    pub cpu: Cpu,
    /// Buckets are reduced while the rest of the backward pass is computed, as DDP does it; else
    /// after it.
    pub overlap: bool,
    /// Of RoCE data, from `NCCL_IB_TC`.
    pub dscp: u8,
    /// Training stops for something else.
    pub pause: Vec<Pause>,
}

/// When the CPU enqueues the work of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cpu {
    /// While the GPU works on the training step before: the usual case.
    Ahead,
    /// Once the GPU has ended the training step before: `loss.item()` in every step.
    Synchronous,
}

/// Something between two training steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Behind this training step, from 0.
    pub after: u32,
    /// How long.
    pub time: Time,
    /// What for.
    pub purpose: PausePurpose,
}

/// What a pause is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PausePurpose {
    /// The model is tried out, and one small AllReduce adds up the results.
    Evaluation,
    /// The model is written to disk: nothing is sent.
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
