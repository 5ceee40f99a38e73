//! Segments of a few TCP connections, from a script. Every byte is the low byte of its sequence
//! number, so delivered data shows its position.

use std::net::IpAddr;

use railscope_core::decode::packet::{Ports, TcpFlags, TcpSegment};
use railscope_core::flow::tcp_stream::sink::{
    Chunk, ConnectionId, DirectionTotals, Ending, Interest, Side, StreamSink, StreamTotals,
    TcpConnection,
};
use railscope_core::flow::tcp_stream::streams::{TcpConfig, TcpStreams};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// Bytes of the script per segment.
const SEGMENT_BYTES: usize = 7;

/// Longer scripts find nothing new and take time.
const SEGMENTS: usize = 2_000;

/// Small limits that scripts can reach.
const CONFIG: TcpConfig =
    TcpConfig { connection_capacity: 3, held_bytes_per_direction: 900, held_bytes: 2_000 };

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let (first, counts) = run(data);
    let (second, _) = run(data);
    assert_eq!(first.log, second.log, "the same segments give the same streams");
    assert!(first.ended.iter().all(|is| *is), "every connection ends");
    assert_eq!(counts, first.ended.len() as u64);
}

fn run(data: &[u8]) -> (Listener, u64) {
    let mut streams = TcpStreams::new(CONFIG);
    let mut listener = Listener::default();
    let mut sequences = [[0_u32; 2]; 4];
    let mut time_ns = 1_700_000_000_000_000_000;
    for (number, segment) in (1..).zip(data.chunks_exact(SEGMENT_BYTES).take(SEGMENTS)) {
        let &[what, s0, s1, len, cut, a0, a1] = segment else { return (listener, 0) };
        let connection = usize::from(what & 3);
        let way = usize::from(what >> 2 & 1);
        let is_far = what & 8 != 0;
        let flags = TcpFlags(s1 >> 3 & 0x17);
        // A jump of at most 128 segments, or anywhere.
        let stride = if is_far { 0x0103_0507 } else { 8 };
        let jump = i32::from(s0.cast_signed()).wrapping_mul(stride);
        let near = if s1 & 1 == 0 { 0 } else { jump };
        let sequence = sequences[connection][way].wrapping_add_signed(near);
        let start = sequence.wrapping_add(u32::from(flags.has(TcpFlags::SYN)));
        let payload: Vec<u8> = (0..u32::from(len)).map(|at| start.wrapping_add(at) as u8).collect();
        let kept = payload.len().saturating_sub(usize::from(cut & 0x3f));
        let ack_jump = i32::from(i16::from_le_bytes([a0, a1]) >> 4);
        let segment = TcpSegment {
            ports: [
                Ports { source: 1_000 + connection as u16, destination: 29_500 },
                Ports { source: 29_500, destination: 1_000 + connection as u16 },
            ][way],
            sequence,
            acknowledgment: sequences[connection][1 - way].wrapping_add_signed(ack_jump),
            flags,
            window: u16::from(a0 & 1),
            payload: &payload[..kept],
            payload_len: payload.len() as u32,
        };
        if near == 0 || is_far {
            sequences[connection][way] = start.wrapping_add(u32::from(len));
        }
        time_ns += u64::from(cut >> 6) * 31_000_000_000;
        let frame = Frame {
            tap: TapId(0),
            number,
            time: Timestamp::from_nanos(time_ns),
            wire_len: 0,
            bytes: &[],
            link_type: LinkType::Ethernet,
            direction: None,
        };
        let ends: [IpAddr; 2] = [[192, 0, 2, 1].into(), [192, 0, 2, 2].into()];
        streams.observe(&frame, ends[way], ends[1 - way], &segment, &mut listener);
    }
    streams.finish(&mut listener);
    let counts = streams.counts();
    (listener, counts.connections)
}

/// Checks the delivered data.
#[derive(Default)]
struct Listener {
    log: Vec<(u32, String)>,
    ended: Vec<bool>,
    directions: Vec<[Direction; 2]>,
}

#[derive(Clone, Copy, Default)]
struct Direction {
    /// Low byte of the next sequence number; `None` before the first byte.
    next: Option<u8>,
    bytes: u64,
    missing: u64,
    is_enough: bool,
}

impl Listener {
    fn direction(&mut self, id: ConnectionId, from: Side) -> &mut Direction {
        assert!(!self.ended[id.0 as usize], "data after the end");
        &mut self.directions[id.0 as usize][usize::from(from == Side::Server)]
    }

    /// Some connections stop listening after a while.
    fn interest(&mut self, id: ConnectionId, from: Side) -> Interest {
        let direction = self.direction(id, from);
        direction.is_enough = id.0 % 3 == 2 && direction.bytes > 100;
        if direction.is_enough { Interest::Enough } else { Interest::More }
    }
}

impl StreamSink for Listener {
    fn opened(&mut self, id: ConnectionId, connection: &TcpConnection) {
        assert_eq!(id.0 as usize, self.ended.len());
        self.ended.push(false);
        self.directions.push(<[Direction; 2]>::default());
        self.log.push((id.0, format!("{connection:?}")));
    }

    fn bytes(&mut self, id: ConnectionId, from: Side, chunk: Chunk<'_>) -> Interest {
        let direction = self.direction(id, from);
        assert!(!direction.is_enough && !chunk.bytes.is_empty());
        for byte in chunk.bytes {
            assert!(
                direction.next.is_none_or(|next| next == *byte),
                "a byte at the wrong position"
            );
            direction.next = Some(byte.wrapping_add(1));
        }
        direction.bytes += chunk.bytes.len() as u64;
        self.log.push((id.0, format!("{from:?} {chunk:?}")));
        self.interest(id, from)
    }

    fn gap(&mut self, id: ConnectionId, from: Side, bytes: u64) -> Interest {
        let direction = self.direction(id, from);
        assert!(!direction.is_enough && bytes > 0);
        direction.next = direction.next.map(|next| next.wrapping_add(bytes as u8));
        direction.missing += bytes;
        self.log.push((id.0, format!("{from:?} gap {bytes}")));
        self.interest(id, from)
    }

    fn totals(&mut self, id: ConnectionId, totals: &StreamTotals) {
        for (side, totals) in [(Side::Client, totals.client), (Side::Server, totals.server)] {
            let DirectionTotals { bytes, missing_bytes, gaps, unanswered, advance } = totals;
            assert!(unanswered.is_none_or(|one| one.tries > 0));
            assert!(bytes > 0 || advance.is_none());
            let direction = self.direction(id, side);
            assert!(gaps <= missing_bytes && missing_bytes <= bytes);
            if !direction.is_enough {
                assert_eq!(bytes, direction.bytes + direction.missing);
                assert_eq!(missing_bytes, direction.missing);
            }
        }
        self.log.push((id.0, format!("{totals:?}")));
    }

    fn closed(&mut self, id: ConnectionId, ending: Ending, time: Timestamp) {
        assert!(!std::mem::replace(&mut self.ended[id.0 as usize], true), "it ends once");
        self.log.push((id.0, format!("{ending:?} {time}")));
    }
}
