//! How much is kept of each frame.

use std::collections::HashMap;
use std::net::IpAddr;
use std::str::FromStr;

use crate::ingest::af_packet::{ROCE_BYTES, WHOLE};
use railscope_core::decode::frame;
use railscope_core::decode::packet::{Body, Packet, TcpFlags, TcpSegment};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};

/// Payload kept of each direction of a TCP connection: NCCL's bootstrap is shorter.
const STREAM_BYTES: u64 = 256 << 10;

/// Payload kept of a RoCE packet in a tunnel: a clear-to-send of NCCL.
const PAYLOAD_BYTES: usize = 64;

/// Directions of TCP connections whose bytes are counted; beyond that all are forgotten, so that their
/// next bytes are kept, too.
const STREAM_CAPACITY: usize = 65_536;

/// Where the UDP header says that a frame is RoCEv2, in IPv4 without options.
const PORT_PLACE: usize = 14 + 20 + 2;
const ROCE_V2: [u8; 2] = 4791_u16.to_be_bytes();

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapLen {
    /// What the analysis needs: headers, clear-to-sends, the first 256 KiB of each TCP stream.
    Auto,
    /// The first bytes of every frame.
    First(u32),
}

impl SnapLen {
    /// Bytes that the kernel keeps of RoCEv2, and of other frames.
    #[must_use]
    pub fn in_kernel(self) -> [u32; 2] {
        match self {
            Self::Auto => [ROCE_BYTES, WHOLE],
            Self::First(bytes) => [bytes, bytes],
        }
    }
}

impl FromStr for SnapLen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        match text.parse() {
            // As tcpdump and dumpcap have it.
            Ok(0) => Ok(Self::First(WHOLE)),
            Ok(bytes) if (64..=WHOLE).contains(&bytes) => Ok(Self::First(bytes)),
            Ok(_) => Err(format!(
                "`{text}` is not between 64 and {WHOLE}; `auto` keeps what the analysis needs, 0 whole frames"
            )),
            Err(_) => {
                Err(format!("`{text}` is not a number of bytes; write auto, 128 or 0 for all"))
            }
        }
    }
}

/// What is kept of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Its first bytes.
    pub(super) kept: usize,
    /// It may belong to the bootstrap of a job, without which no rank is known.
    pub(super) is_control: bool,
}

/// One direction of a TCP connection at a tap.
type Stream = (TapId, IpAddr, u16, IpAddr, u16);

/// Cuts frames.
#[derive(Debug)]
pub(super) struct Cutter {
    snap: SnapLen,
    /// Bytes of payload so far.
    streams: HashMap<Stream, u64>,
}

impl Cutter {
    pub(super) fn new(snap: SnapLen) -> Self {
        Self { snap, streams: HashMap::new() }
    }

    /// What is kept of the next frame.
    #[inline]
    pub(super) fn cut(&mut self, frame: &Frame<'_>) -> Cut {
        let all = frame.bytes.len();
        match self.snap {
            SnapLen::First(bytes) => Cut { kept: all.min(bytes as usize), is_control: false },
            // The kernel has cut it.
            SnapLen::Auto if is_plain_roce(frame) => Cut { kept: all, is_control: false },
            SnapLen::Auto => self.cut_other(frame),
        }
    }

    fn cut_other(&mut self, frame: &Frame<'_>) -> Cut {
        let packet = frame::decode(frame);
        let all = frame.bytes.len();
        let few = all.min(ROCE_BYTES as usize);
        match &packet.body {
            Body::Roce(roce) if roce.payload_offset > 0 => {
                let end = roce.payload_offset as usize + PAYLOAD_BYTES;
                Cut { kept: all.min(end.max(few)), is_control: false }
            }
            Body::Tcp(segment) => match self.is_early(frame.tap, &packet, segment) {
                true => Cut { kept: all, is_control: true },
                false => Cut { kept: all - segment.payload.len().min(all), is_control: false },
            },
            // A header that is not decoded may end anywhere.
            Body::Unread => Cut { kept: all, is_control: false },
            _ => Cut { kept: few, is_control: false },
        }
    }

    /// Whether a segment is among the first of its stream.
    fn is_early(&mut self, tap: TapId, packet: &Packet<'_>, segment: &TcpSegment<'_>) -> bool {
        let Some(ip) = &packet.ip else { return true };
        let ports = segment.ports;
        let stream = (tap, ip.source, ports.source, ip.destination, ports.destination);
        if self.streams.len() >= STREAM_CAPACITY && !self.streams.contains_key(&stream) {
            self.streams.clear();
        }
        let bytes = self.streams.entry(stream).or_default();
        if segment.flags.has(TcpFlags::SYN) {
            *bytes = 0;
        }
        let is_early = *bytes < STREAM_BYTES;
        *bytes = bytes.saturating_add(segment.payload_len.into());
        is_early
    }
}

/// Whether a frame is what nearly all frames are: RoCEv2 in IPv4 in Ethernet.
#[inline]
fn is_plain_roce(frame: &Frame<'_>) -> bool {
    let bytes = frame.bytes;
    frame.link_type == LinkType::Ethernet
        && bytes.len() <= ROCE_BYTES as usize
        && bytes.get(12..15) == Some(&[0x08, 0x00, 0x45])
        && bytes.get(23) == Some(&17)
        && bytes.get(PORT_PLACE..PORT_PLACE + 2) == Some(&ROCE_V2)
}

#[cfg(test)]
mod tests {
    use super::SnapLen;

    #[test]
    fn lengths_as_people_write_them() {
        assert_eq!("auto".parse(), Ok(SnapLen::Auto));
        assert_eq!("128".parse(), Ok(SnapLen::First(128)));
        assert_eq!("0".parse(), Ok(SnapLen::First(0x4_0000)));
        for wrong in ["", "all", "-1", "12", "300000", "128B"] {
            let error = wrong.parse::<SnapLen>().unwrap_err();
            assert!(error.contains("auto"), "{error}");
        }
    }
}
