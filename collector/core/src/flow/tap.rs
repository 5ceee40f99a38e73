//! Totals of one tap.

use serde::{Deserialize, Serialize};

use crate::decode::error::{DecodeError, Layer, Limit};
use crate::decode::packet::{Body, Packet};
use crate::model::frame::Frame;
use crate::model::run::Run;
use crate::model::tap::Tap;
use crate::model::time::{Span, Timestamp};

/// Sums of one tap.
#[derive(Clone, Serialize, Deserialize)]
pub struct TapState {
    /// The tap itself.
    pub tap: Tap,
    /// Line rate in bits per second: the user's, else the capture's.
    pub line_rate_bps: Option<u64>,
    /// First and last time by the clock; `None` without frames. Lasts as long as the tap is known to have been
    /// observed.
    pub span: Option<Span>,
    /// All frames, decoded or not.
    pub frames: u64,
    /// Their bytes on the wire, without FCS.
    pub wire_bytes: u64,
    /// Their bytes in the capture.
    pub captured_bytes: u64,
    /// Frames of RoCEv2, RoCE v1 or InfiniBand with at least a complete BTH.
    pub roce_frames: u64,
    /// Frames with a TCP header.
    pub tcp_frames: u64,
    /// PFC and 802.3x pause frames.
    pub pause_frames: u64,
    /// Frames from a switch's mirror session.
    pub mirrored_frames: u64,
    /// Frames of which the capture kept only a part.
    pub truncated_frames: u64,
    /// Frames that the source reported as lost.
    pub lost_frames: u64,
    /// Frames with a timestamp before the previous frame's.
    pub backward_frames: u64,
    /// Packets that the tap saw twice.
    pub duplicates: u64,
    newest: Timestamp,
    /// The few combinations that occur.
    refused: Vec<((Layer, Limit), u64)>,
}

impl TapState {
    /// A tap without frames.
    #[must_use]
    pub fn new(tap: Tap, line_rate_bps: Option<u64>) -> Self {
        Self {
            tap,
            line_rate_bps,
            span: None,
            frames: 0,
            wire_bytes: 0,
            captured_bytes: 0,
            roce_frames: 0,
            tcp_frames: 0,
            pause_frames: 0,
            mirrored_frames: 0,
            truncated_frames: 0,
            lost_frames: 0,
            backward_frames: 0,
            duplicates: 0,
            newest: Timestamp::EPOCH,
            refused: Vec::new(),
        }
    }

    /// Counts a frame.
    #[inline]
    pub fn add(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        let (time, captured_len) = (frame.time, frame.bytes.len());
        self.frames += 1;
        self.wire_bytes += u64::from(frame.wire_len);
        self.captured_bytes += captured_len as u64;
        self.truncated_frames += u64::from(captured_len < frame.wire_len as usize);
        self.backward_frames += u64::from(time < self.newest);
        self.newest = time;
        match &mut self.span {
            Some(span) => {
                span.first = span.first.min(time);
                span.last = span.last.max(time);
            }
            None => self.span = Some(Span { first: time, last: time }),
        }
        match packet.body {
            Body::Roce(_) => self.roce_frames += 1,
            Body::Tcp(_) => self.tcp_frames += 1,
            Body::Pause(_) => self.pause_frames += 1,
            Body::Unread | Body::Udp(_) | Body::Sflow(_) | Body::OtherIp | Body::Other(_) => {}
        }
        self.mirrored_frames += u64::from(packet.mirrored_by.is_some());
        if let Some(error) = &packet.stop {
            self.add_refusal(error);
        }
    }

    /// Notes that no other frame passed until then.
    pub fn observe_until(&mut self, time: Timestamp) {
        if let Some(span) = &mut self.span {
            span.last = span.last.max(time);
        }
    }

    /// Counts frames that the source counted.
    pub fn add_run(&mut self, run: &Run) {
        let frames = u64::from(run.frames);
        self.frames += frames;
        self.roce_frames += frames;
        if run.payload_len() > 0 {
            self.truncated_frames += frames;
        }
        self.wire_bytes += frames * u64::from(run.wire_len);
        self.lost_frames += u64::from(run.lost);
    }

    /// Counts a layer that could not be read. A header beyond the snap length is not an
    /// error in the frame, but its content is missing, so it counts as well.
    #[cold]
    pub fn add_refusal(&mut self, error: &DecodeError) {
        let reason = (error.layer, error.limit);
        match self.refused.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.refused.push((reason, 1)),
        }
    }

    /// Layers that could not be read, with reason and count, in order of first sight.
    pub fn refused(&self) -> impl Iterator<Item = (Layer, Limit, u64)> + '_ {
        self.refused.iter().map(|((layer, limit), count)| (*layer, *limit, *count))
    }
}
