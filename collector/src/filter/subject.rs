//! What a filter is asked about: a packet, and what is known of it.

use railscope_core::decode::packet::{Body, Packet};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::frame::Frame;
use railscope_core::model::time::Timestamp;
use railscope_core::report::packets::PacketContext;

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
    pub context: PacketContext,
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
