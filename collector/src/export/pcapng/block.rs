//! Blocks of a pcapng file, appended to a buffer.
//!
//! The recorder encodes each frame straight into its chunk with these; the writer uses them, too.

use std::net::IpAddr;

use super::section::{Section, Statistics};
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{HostName, LinkType, Tap, TapId};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const INTERFACE_STATISTICS: u32 = 5;
const NAME_RESOLUTION: u32 = 4;
/// Records of a name resolution block have the layout of options.
const NRB_END: u16 = 0;
const NRB_IPV4: u16 = 1;
const NRB_IPV6: u16 = 2;

/// Marks the byte order of the section: this machine's.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The length of the section is unknown.
const UNKNOWN_LENGTH: u64 = u64::MAX;

const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SHB_OS: u16 = 3;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
/// 10^-9 s.
const NANOSECONDS: u8 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_STARTTIME: u16 = 2;
const ISB_ENDTIME: u16 = 3;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_USRDELIV: u16 = 8;

/// `epb_flags`: the lowest two bits.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Bytes of a packet block before the frame.
pub const FRAME_OFFSET: usize = 28;

/// Most bytes of one comment: Wireshark shows them on one line.
const COMMENT_LIMIT: usize = 2000;

/// Begins a file.
pub fn section(out: &mut Vec<u8>, section: &Section) {
    block(out, SECTION_HEADER, |out| {
        put(out, &BYTE_ORDER.to_ne_bytes());
        // Version 1.0.
        put(out, &1_u16.to_ne_bytes());
        put(out, &0_u16.to_ne_bytes());
        put(out, &UNKNOWN_LENGTH.to_ne_bytes());
        let texts = [(SHB_OS, &section.system), (SHB_USERAPPL, &section.application)];
        let texts = texts.into_iter().filter_map(|(code, text)| Some((code, text.as_deref()?)));
        let comments = section.comments.iter().map(|text| (COMMENT, text.as_str()));
        let mut has_any = false;
        for (code, text) in texts.chain(comments) {
            option(out, code, cut(text).as_bytes());
            has_any = true;
        }
        if has_any {
            option(out, END_OF_OPTIONS, &[]);
        }
    });
}

/// The next interface.
pub fn tap(out: &mut Vec<u8>, tap: &Tap) {
    block(out, INTERFACE, |out| {
        put(out, &link_type_number(tap.link_type).to_ne_bytes());
        put(out, &[0; 2]);
        put(out, &tap.snap_len.unwrap_or(0).to_ne_bytes());
        if let Some(name) = &tap.interface {
            option(out, IF_NAME, name.as_bytes());
        }
        option(out, IF_DESCRIPTION, tap.file.as_bytes());
        if let Some(rate) = tap.line_rate_bps {
            option(out, IF_SPEED, &rate.to_ne_bytes());
        }
        option(out, IF_TSRESOL, &[NANOSECONDS]);
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// A frame, of which the first `kept` bytes are written, with comments.
#[inline]
pub fn frame(out: &mut Vec<u8>, frame: &Frame<'_>, kept: usize, comments: &[String]) {
    let bytes = frame.bytes.get(..kept).unwrap_or(frame.bytes);
    block(out, ENHANCED_PACKET, |out| {
        put(out, &frame.tap.0.to_ne_bytes());
        time(out, frame.time.as_nanos());
        put(out, &(bytes.len() as u32).to_ne_bytes());
        put(out, &frame.wire_len.to_ne_bytes());
        put(out, bytes);
        pad(out);
        for text in comments {
            option(out, COMMENT, cut(text).as_bytes());
        }
        let way = frame.direction.map(|direction| match direction {
            Direction::Received => INBOUND,
            Direction::Sent => OUTBOUND,
        });
        if let Some(way) = way {
            option(out, EPB_FLAGS, &way.to_ne_bytes());
        }
        if way.is_some() || !comments.is_empty() {
            option(out, END_OF_OPTIONS, &[]);
        }
    });
}

/// Names of addresses; several names of one address are several records.
pub fn names(out: &mut Vec<u8>, names: &[HostName]) {
    block(out, NAME_RESOLUTION, |out| {
        for one in names {
            let (kind, address) = match one.address {
                IpAddr::V4(address) => (NRB_IPV4, address.octets().to_vec()),
                IpAddr::V6(address) => (NRB_IPV6, address.octets().to_vec()),
            };
            let value = [&address[..], one.name.as_bytes(), &[0]].concat();
            option(out, kind, &value);
        }
        option(out, NRB_END, &[]);
    });
}

/// What an interface received and lost so far.
pub fn statistics(out: &mut Vec<u8>, tap: TapId, counted: &Statistics) {
    let halves = |ns: u64| [((ns >> 32) as u32).to_ne_bytes(), (ns as u32).to_ne_bytes()].concat();
    block(out, INTERFACE_STATISTICS, |out| {
        put(out, &tap.0.to_ne_bytes());
        time(out, counted.time.as_nanos());
        if let Some(span) = counted.span {
            option(out, ISB_STARTTIME, &halves(span.first.as_nanos()));
            option(out, ISB_ENDTIME, &halves(span.last.as_nanos()));
        }
        if let Some(received) = counted.received {
            option(out, ISB_IFRECV, &received.to_ne_bytes());
        }
        option(out, ISB_IFDROP, &counted.lost.to_ne_bytes());
        if let Some(written) = counted.written {
            option(out, ISB_USRDELIV, &written.to_ne_bytes());
        }
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Type and length, content, and the length again.
#[inline]
fn block(out: &mut Vec<u8>, kind: u32, content: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    put(out, &kind.to_ne_bytes());
    put(out, &[0; 4]);
    content(out);
    let length = (out.len() - begin + 4) as u32;
    put(out, &length.to_ne_bytes());
    if let Some(place) = out.get_mut(begin + 4..begin + 8) {
        place.copy_from_slice(&length.to_ne_bytes());
    }
}

/// The upper half first.
#[inline]
fn time(out: &mut Vec<u8>, ns: u64) {
    put(out, &((ns >> 32) as u32).to_ne_bytes());
    put(out, &(ns as u32).to_ne_bytes());
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    let value = value.get(..usize::from(length)).unwrap_or_default();
    put(out, &code.to_ne_bytes());
    put(out, &length.to_ne_bytes());
    put(out, value);
    pad(out);
}

/// The first bytes of a text.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(COMMENT_LIMIT)).unwrap_or(text)
}

#[inline]
fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

/// To a multiple of four bytes: blocks have such lengths, so a buffer of blocks has, too.
#[inline]
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The LINKTYPE_ number.
const fn link_type_number(link_type: LinkType) -> u16 {
    match link_type {
        LinkType::Null => 0,
        LinkType::Ethernet => 1,
        LinkType::RawIp => 101,
        LinkType::Loopback => 108,
        LinkType::LinuxCookedV1 => 113,
        LinkType::LinuxCookedV2 => 276,
        LinkType::Erf => 197,
        LinkType::InfiniBand => 247,
        LinkType::Unknown(number) => number as u16,
    }
}
