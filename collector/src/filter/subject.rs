//! What a filter is asked about: a packet, and what is known of it.

use railscope_core::decode::packet::{Body, Packet};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::frame::Frame;
use railscope_core::model::time::Timestamp;

/// A packet with its frame, and what an analysis knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The frame.
    pub frame: &'a Frame<'a>,
    /// Its headers.
    pub packet: &'a Packet<'a>,
    /// Time of the first frame of the input.
    pub origin: Timestamp,
    /// What is known beyond its headers.
    pub known: Known,
}

/// What an analysis knows of a packet; `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The ranks that send and receive it.
    pub ranks: [Option<u32>; 2],
    /// NCCL's channel.
    pub channel: Option<u32>,
    /// The collective in which it was sent, by its number in the report.
    pub collective: Option<u32>,
    /// The training step, by number.
    pub iteration: Option<u32>,
    /// The packet was sent before.
    pub is_resent: bool,
}

impl<'a> Subject<'a> {
    /// Its RoCE headers.
    pub(super) fn roce(&self) -> Option<&'a RocePacket<'a>> {
        match &self.packet.body {
            Body::Roce(roce) => Some(roce),
            _ => None,
        }
    }
}
