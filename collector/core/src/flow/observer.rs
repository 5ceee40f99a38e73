//! Events of the flow layer, for the layer that links them to ranks.

use serde::{Deserialize, Serialize};

use super::message::Message;
use super::state::Flow;
use crate::decode::roce::aeth::Syndrome;
use crate::decode::roce::packet::RocePacket;
use crate::model::frame::Frame;

/// Receives flow events, in packet order.
pub trait FlowObserver {
    /// A message of flow `at` in the flow table was completed by `packet` in `frame`.
    fn message(
        &mut self,
        at: u32,
        flow: &Flow,
        message: &Message,
        packet: &RocePacket<'_>,
        frame: &Frame<'_>,
    );

    /// Flow `at` carried a retransmitted packet in `frame`.
    fn resent(&mut self, at: u32, flow: &Flow, frame: &Frame<'_>);

    /// Flow `at` carried a signal about the traffic of its reverse.
    fn signal(&mut self, at: u32, flow: &Flow, signal: Signal, frame: &Frame<'_>);
}

/// A packet that makes a sender slow down or retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// Congestion notification packet.
    Cnp,
    /// NAK or receiver-not-ready NAK.
    Nak(Syndrome),
}

/// Ignores all events.
impl FlowObserver for () {
    fn message(&mut self, _: u32, _: &Flow, _: &Message, _: &RocePacket<'_>, _: &Frame<'_>) {}

    fn resent(&mut self, _: u32, _: &Flow, _: &Frame<'_>) {}

    fn signal(&mut self, _: u32, _: &Flow, _: Signal, _: &Frame<'_>) {}
}
