//! Writes frames to a pcapng file (draft-ietf-opsawg-pcapng), with one interface per tap and nanoseconds.
//!
//! Losses are written too, so that the file has the same facts as the live analysis.
//!
//! Hand-written because the crates cost every build more than this file: pcap-parser's `serialize` brings
//! `futures`, pcap-file a second `syn` and `thiserror`.

use std::io::{self, Write};
use std::net::IpAddr;

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
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
/// 10^-9 s.
const NANOSECONDS: u8 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFDROP: u16 = 5;

/// `epb_flags`: the lowest two bits.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Writes a capture file.
#[derive(Debug)]
pub struct PcapNgWriter<W> {
    out: W,
    /// Frames lost so far, by tap.
    lost: Vec<u64>,
    /// The current block; its memory is reused.
    block: Vec<u8>,
    last_ns: u64,
}

impl<W: Write> PcapNgWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// When writing fails, as of all methods.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, lost: Vec::new(), block: Vec::new(), last_ns: 0 };
        // Version 1.0.
        writer.put(&BYTE_ORDER.to_ne_bytes());
        writer.put(&1_u16.to_ne_bytes());
        writer.put(&0_u16.to_ne_bytes());
        writer.put(&UNKNOWN_LENGTH.to_ne_bytes());
        writer.end_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// The next tap; taps are numbered from 0 in this order.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn tap(&mut self, tap: &Tap) -> io::Result<()> {
        self.lost.push(0);
        self.put(&link_type_number(tap.link_type).to_ne_bytes());
        self.put(&[0; 2]);
        self.put(&tap.snap_len.unwrap_or(0).to_ne_bytes());
        if let Some(name) = &tap.interface {
            self.option(IF_NAME, name.as_bytes());
        }
        self.option(IF_DESCRIPTION, tap.file.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.option(END_OF_OPTIONS, &[]);
        self.end_block(INTERFACE)
    }

    /// A frame of a tap that was added before.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let captured = u32::try_from(frame.bytes.len()).map_err(io::Error::other)?;
        self.put(&frame.tap.0.to_ne_bytes());
        self.time(frame.time.as_nanos());
        self.put(&captured.to_ne_bytes());
        self.put(&frame.wire_len.to_ne_bytes());
        self.put(frame.bytes);
        self.pad();
        let way = frame.direction.map(|direction| match direction {
            Direction::Received => INBOUND,
            Direction::Sent => OUTBOUND,
        });
        if let Some(way) = way {
            self.option(EPB_FLAGS, &way.to_ne_bytes());
            self.option(END_OF_OPTIONS, &[]);
        }
        self.end_block(ENHANCED_PACKET)
    }

    /// The name of an address.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn host_name(&mut self, name: &HostName) -> io::Result<()> {
        let (kind, address) = match name.address {
            IpAddr::V4(address) => (NRB_IPV4, address.octets().to_vec()),
            IpAddr::V6(address) => (NRB_IPV6, address.octets().to_vec()),
        };
        let value = [&address[..], name.name.as_bytes(), &[0]].concat();
        self.option(kind, &value);
        self.option(NRB_END, &[]);
        self.end_block(NAME_RESOLUTION)
    }

    /// Frames of a tap that were lost.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn lost(&mut self, tap: TapId, frames: u64) -> io::Result<()> {
        let Some(total) = self.lost.get_mut(tap.0 as usize) else { return Ok(()) };
        *total = total.saturating_add(frames);
        let total = *total;
        self.put(&tap.0.to_ne_bytes());
        self.time(self.last_ns);
        self.option(ISB_IFDROP, &total.to_ne_bytes());
        self.option(END_OF_OPTIONS, &[]);
        self.end_block(INTERFACE_STATISTICS)
    }

    /// Writes buffered data.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The upper half first.
    fn time(&mut self, ns: u64) {
        self.last_ns = ns;
        self.put(&((ns >> 32) as u32).to_ne_bytes());
        self.put(&(ns as u32).to_ne_bytes());
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        let value = value.get(..usize::from(length)).unwrap_or_default();
        self.put(&code.to_ne_bytes());
        self.put(&length.to_ne_bytes());
        self.put(value);
        self.pad();
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// To a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the block: type and length, content, and the length again.
    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 12).map_err(io::Error::other)?;
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length.to_ne_bytes())?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length.to_ne_bytes())?;
        self.block.clear();
        Ok(())
    }
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
