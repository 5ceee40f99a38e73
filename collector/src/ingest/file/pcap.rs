//! Classic pcap (draft-ietf-opsawg-pcap): a file header, then records.
//!
//! ```text
//! byte 0..3     4..7                8..11         12..15      16..
//!      seconds  micro-/nanoseconds  captured len  wire len    frame
//! ```
//!
//! pcap-parser reads the records: hand-written code was not faster (`benches/ingest.rs`).
// Cost: 16 ns a record from the page cache, the copy included; reading the header takes about 6 ns
// either way (128-byte frames, AMD EPYC with AVX-512, 2026-11).

use pcap_parser::{
    LegacyPcapBlock, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header,
};

use super::buffer::{BLOCK_LIMIT, Buffer};
use super::byte_order::ByteOrder;
use super::notices::Notices;
use super::problem::ProblemKind;
use super::record::{Found, Record, lengths_without_fcs};
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;

/// First bytes of a file: microseconds or nanoseconds, in either byte order.
pub(super) const MAGICS: [[u8; 4]; 4] = [
    0xa1b2_c3d4_u32.to_le_bytes(),
    0xa1b2_c3d4_u32.to_be_bytes(),
    0xa1b2_3c4d_u32.to_le_bytes(),
    0xa1b2_3c4d_u32.to_be_bytes(),
];

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;

/// Most bytes of a record in an ordinary file: `MAXIMUM_SNAPLEN` of tcpdump and libpcap. A larger snap
/// length in the file header raises the limit.
const CAPTURED_LIMIT: u32 = 262_144;

/// Reads the records of a pcap file.
#[derive(Debug)]
pub(super) struct PcapReader {
    byte_order: ByteOrder,
    /// Nanoseconds in one unit of a record's fraction of a second.
    fraction_ns: u64,
    captured_limit: u32,
    fcs_bytes: u32,
    tap: Tap,
    /// `None` until the tap has been announced.
    tap_id: Option<TapId>,
}

impl PcapReader {
    pub(super) fn open(name: &str, buffer: &mut Buffer) -> Result<Self, ProblemKind> {
        let bytes = buffer.need(FILE_HEADER_BYTES)?;
        let Ok((_, header)) = parse_pcap_header(bytes) else {
            return Err(ProblemKind::ByteOrder);
        };
        let reader = Self::from_header(name, &header)?;
        buffer.consume(FILE_HEADER_BYTES);
        Ok(reader)
    }

    fn from_header(name: &str, header: &PcapHeader) -> Result<Self, ProblemKind> {
        if header.version_major != 2 {
            let PcapHeader { version_major: major, version_minor: minor, .. } = *header;
            return Err(ProblemKind::Version { major, minor });
        }
        // Wire: the link type's field is LinkType (26 bits, the upper ten reserved), F, a reserved
        // bit, and the length of the frame check sequence in units of 16 bits when F is set.
        let network = header.network.0.cast_unsigned();
        let has_fcs_len = network & 1 << 26 != 0;
        Ok(Self {
            byte_order: if header.is_bigendian() { ByteOrder::Big } else { ByteOrder::Little },
            fraction_ns: if header.is_nanosecond_precision() { 1 } else { 1000 },
            captured_limit: header.snaplen.clamp(CAPTURED_LIMIT, BLOCK_LIMIT),
            fcs_bytes: if has_fcs_len { (network >> 28) * 2 } else { 0 },
            tap: Tap {
                file: name.to_owned(),
                format: TapFormat::Pcap,
                interface: None,
                link_type: LinkType::from_number(network & 0x03ff_ffff),
                snap_len: (header.snaplen != 0).then_some(header.snaplen),
                line_rate_bps: None,
            },
            tap_id: None,
        })
    }

    /// Reads one record into `record`. A record with an invalid length ends the file: the start of the next one is
    /// unknown.
    #[inline(always)]
    pub(super) fn poll(
        &mut self,
        buffer: &mut Buffer,
        record: &mut Record,
        notices: &mut Notices,
    ) -> Result<Found, ProblemKind> {
        let Some(tap) = self.tap_id else {
            let tap = notices.push_tap(self.tap.clone());
            self.tap_id = Some(tap.ok_or(ProblemKind::Taps(notices.limit()))?);
            return Ok(Found::Other);
        };
        let parsed = match self.byte_order {
            ByteOrder::Little => parse_pcap_frame(buffer.at_hand()),
            ByteOrder::Big => parse_pcap_frame_be(buffer.at_hand()),
        };
        let Ok((_, LegacyPcapBlock { ts_sec, ts_usec, caplen, origlen, .. })) = parsed else {
            return self.on_partial_record(buffer);
        };
        self.check_captured_len(caplen)?;
        let position = buffer.position() + RECORD_HEADER_BYTES;
        buffer.consume(RECORD_HEADER_BYTES + caplen as usize);

        let (len, wire_len) = lengths_without_fcs(caplen, origlen, self.fcs_bytes);
        let time = u64::from(ts_sec) * 1_000_000_000 + u64::from(ts_usec) * self.fraction_ns;
        *record = Record {
            time: Timestamp::from_nanos(time),
            tap,
            link_type: self.tap.link_type,
            direction: None,
            wire_len,
            position,
            len: len as usize,
        };
        Ok(Found::Frame)
    }

    /// Buffers the rest of the next record; the next poll reads it.
    #[cold]
    fn on_partial_record(&self, buffer: &mut Buffer) -> Result<Found, ProblemKind> {
        let Some([_, _, captured_len, _]) = buffer.words()? else { return Ok(Found::End) };
        let captured_len = self.byte_order.u32(captured_len);
        self.check_captured_len(captured_len)?;
        buffer.need(RECORD_HEADER_BYTES + captured_len as usize)?;
        Ok(Found::Other)
    }

    #[inline]
    fn check_captured_len(&self, captured_len: u32) -> Result<(), ProblemKind> {
        if captured_len > self.captured_limit {
            return Err(ProblemKind::RecordLength { captured_len, limit: self.captured_limit });
        }
        Ok(())
    }
}
