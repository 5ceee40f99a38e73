//! What the flow layer tells while packets pass, to whoever links them to ranks.

use super::message::Message;
use super::state::Flow;
use crate::decode::roce::aeth::Syndrome;
use crate::decode::roce::packet::RocePacket;
use crate::model::frame::Frame;

/// Is told of what flows do, in the order of the packets.
pub trait FlowObserver {
    /// A message of the flow at place `at` of the flow table was completed by `packet` in `frame`.
    fn message(
        &mut self,
        at: u32,
        flow: &Flow,
        message: &Message,
        packet: &RocePacket<'_>,
        frame: &Frame<'_>,
    );

    /// The flow at place `at` carried a packet in `frame` that it had sent before.
    fn resent(&mut self, at: u32, flow: &Flow, frame: &Frame<'_>);

    /// The flow at place `at` carried a signal against the traffic of its reverse.
    fn signal(&mut self, at: u32, flow: &Flow, signal: Signal, frame: &Frame<'_>);
}

/// A packet that tells a sender to slow down or to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Congestion notification packet.
    Cnp,
    /// NAK or receiver-not-ready NAK.
    Nak(Syndrome),
}

/// Nobody listens.
impl FlowObserver for () {
    fn message(&mut self, _: u32, _: &Flow, _: &Message, _: &RocePacket<'_>, _: &Frame<'_>) {}

    fn resent(&mut self, _: u32, _: &Flow, _: &Frame<'_>) {}

    fn signal(&mut self, _: u32, _: &Flow, _: Signal, _: &Frame<'_>) {}
}
