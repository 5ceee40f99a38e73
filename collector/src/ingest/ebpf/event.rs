//! Turns records of the ring into frames.

use railscope_ebpf::event::{
    ENCAPSULATED, EventHeader, HAS_RUN, OUTBOUND, PAYLOAD_ROOMS, Run as RunRecord, SEGMENT,
    SegmentEvent,
};

use super::clock::Clock;
use crate::ingest::live::LiveEvent;
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::opcode::Opcode;
use railscope_core::model::psn::Psn;
use railscope_core::model::run::Run;
use railscope_core::model::tap::{LinkType, TapId};

/// Offset of a VLAN tag: after both addresses.
const TAG_PLACE: usize = 12;

const ETHERNET_LEN: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TAG_TYPES: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

/// Flags of TCP (RFC 9293, section 3.1).
const SYN: u8 = 0x02;
/// FIN, RST and PSH.
const ENDS: u8 = 0x0d;

/// One record of the ring.
pub(super) struct Record<'a> {
    pub(super) header: &'a EventHeader,
    /// The beginning of the packet.
    head: &'a [u8],
    body: Body<'a>,
}

enum Body<'a> {
    /// With the run before it.
    Packet(Option<&'a RunRecord>),
    /// With its payload.
    Segment(&'a SegmentEvent, &'a [u8]),
}

impl<'a> Record<'a> {
    /// A record; `None` for one that no program writes.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = split::<EventHeader>(bytes)?;
        let (body, room) = if header.marks & SEGMENT != 0 {
            let (segment, payload) = split::<SegmentEvent>(bytes)?;
            let is_room = PAYLOAD_ROOMS.contains(&payload.len());
            (is_room.then_some(Body::Segment(segment, payload))?, &segment.head[..])
        } else if header.marks & HAS_RUN != 0 {
            let (run, room) = split(rest)?;
            (Body::Packet(Some(run)), room)
        } else {
            (Body::Packet(None), rest)
        };
        Some(Self { header, head: room.get(..header.head_len.into())?, body })
    }

    /// Packets that the kernel counted before it.
    pub(super) fn counted(&self) -> u64 {
        match self.body {
            Body::Packet(Some(run)) => run.frames.into(),
            _ => 0,
        }
    }
}

/// A value at the beginning, which is aligned, and what follows.
fn split<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Option<(&T, &[u8])> {
    let (value, rest) = bytes.split_at_checked(size_of::<T>())?;
    Some((bytemuck::try_from_bytes(value).ok()?, rest))
}

/// The buffer that frames are built in.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// The frame of a record, the `number`th of its tap.
    pub(super) fn frame<'a>(
        &'a mut self,
        record: &Record<'_>,
        tap: TapId,
        number: u64,
        own: Option<[u8; 6]>,
        clock: &Clock,
    ) -> LiveEvent<'a> {
        let &Record { header, head, ref body } = record;
        self.0.clear();
        self.0.extend_from_slice(head);
        let mut wire_len = header.wire_len;
        if let Body::Segment(event, room) = body {
            let payload = first(room, event.payload_len);
            // Each piece of a segment that the kernel merged becomes a segment. Headers without
            // payload keep the original length.
            let lengths = [header.head_len.into(), event.payload_offset, event.payload_len];
            let end = lengths.into_iter().fold(0, u32::saturating_add);
            let is_piece = header.marks & ENCAPSULATED == 0
                && !payload.is_empty()
                && (event.payload_offset > 0 || end < wire_len);
            if is_piece {
                cut(&mut self.0, payload.len(), event.payload_offset, end >= wire_len);
                wire_len = (head.len() + payload.len()) as u32;
            }
            self.0.extend_from_slice(payload);
        }
        if header.vlan != 0 && self.0.len() >= TAG_PLACE {
            let tag = header.vlan.to_be_bytes();
            self.0.splice(TAG_PLACE..TAG_PLACE, tag);
            wire_len = wire_len.saturating_add(tag.len() as u32);
        }
        let frame = Frame {
            tap,
            number,
            time: clock.timestamp(header.time),
            wire_len,
            bytes: &self.0,
            link_type: LinkType::Ethernet,
            direction: direction(header, &self.0, own),
        };
        match body {
            Body::Packet(Some(before)) if before.frames > 0 || before.lost > 0 => {
                LiveEvent::Run(run(before, clock), frame)
            }
            _ => LiveEvent::Frame(frame),
        }
    }
}

/// Direction of a frame that the interface itself sent or received; `None` at a port of a bridge or
/// mirror, which did neither.
fn direction(header: &EventHeader, frame: &[u8], own: Option<[u8; 6]>) -> Option<Direction> {
    let own = own?;
    let is_own = |range| frame.get::<std::ops::Range<usize>>(range) == Some(&own[..]);
    match header.marks & OUTBOUND {
        0 if is_own(0..6) => Some(Direction::Received),
        OUTBOUND if is_own(6..TAG_PLACE) => Some(Direction::Sent),
        _ => None,
    }
}

fn first(bytes: &[u8], len: u32) -> &[u8] {
    bytes.get(..len as usize).unwrap_or(bytes)
}

fn run(record: &RunRecord, clock: &Clock) -> Run {
    let first_ce_time = (record.first_ce_time > 0).then(|| clock.timestamp(record.first_ce_time));
    Run {
        opcode: Opcode(record.opcode as u8),
        first_psn: Psn::new(record.first_psn),
        last_psn: Psn::new(record.last_psn),
        frames: record.frames,
        wire_len: record.wire_len,
        first_time: clock.timestamp(record.first_time),
        last_time: clock.timestamp(record.last_time),
        ecn: record.ecn,
        first_ce_time,
        lost: record.lost,
    }
}

/// Rewrites the headers in `head` for a piece of a TCP segment: `payload_len` bytes from `offset` in its
/// payload. SYN stays on the first piece; FIN, PSH and RST on the last.
fn cut(head: &mut [u8], payload_len: usize, offset: u32, is_last: bool) {
    let mut ip = ETHERNET_LEN;
    let ether_type = |head: &[u8], ip: usize| head.get(ip - 2..ip).map(<[u8]>::to_vec);
    while ether_type(head, ip).is_some_and(|kind| TAG_TYPES.iter().any(|tag| kind == tag)) {
        ip += 4;
    }
    let (length_at, length, tcp) = match ether_type(head, ip).as_deref() {
        Some(kind) if kind == IPV4 => {
            let header_len = usize::from(head.get(ip).copied().unwrap_or_default() & 0x0f) * 4;
            (ip + 2, head.len() - ip + payload_len, ip + header_len)
        }
        Some(kind) if kind == IPV6 => {
            (ip + 4, (head.len() - ip + payload_len).saturating_sub(40), ip + 40)
        }
        _ => return,
    };
    if let (Some(field), Ok(length)) =
        (head.get_mut(length_at..length_at + 2), u16::try_from(length))
    {
        field.copy_from_slice(&length.to_be_bytes());
    }
    let Some(Ok(header)) = head.get_mut(tcp..tcp + 14).map(<&mut [u8; 14]>::try_from) else {
        return;
    };
    let [_, _, _, _, sequence @ .., _, _, _, _, _, flags] = header;
    let mut begin = u32::from_be_bytes(*sequence).wrapping_add(offset);
    if offset > 0 && *flags & SYN != 0 {
        begin = begin.wrapping_add(1);
        *flags &= !SYN;
    }
    if !is_last {
        *flags &= !ENDS;
    }
    *sequence = begin.to_be_bytes();
}
