//! Options of pcapng blocks: code, length, value, padded to a multiple of four.
//!
//! Numbers are read here, because pcap-parser takes them for little-endian whatever the section's
//! byte order is.

use pcap_parser::PcapNGOption;

use super::super::byte_order::ByteOrder;

const END_OF_OPTIONS: u16 = 0;

pub(super) const IF_NAME: u16 = 2;
pub(super) const IF_SPEED: u16 = 8;
pub(super) const IF_TSRESOL: u16 = 9;
pub(super) const IF_FCSLEN: u16 = 13;
pub(super) const IF_TSOFFSET: u16 = 14;
pub(super) const IF_TXSPEED: u16 = 16;
pub(super) const IF_RXSPEED: u16 = 17;

pub(super) const ISB_STARTTIME: u16 = 2;
pub(super) const ISB_ENDTIME: u16 = 3;
pub(super) const ISB_IFRECV: u16 = 4;
pub(super) const ISB_IFDROP: u16 = 5;
pub(super) const ISB_OSDROP: u16 = 7;
pub(super) const ISB_USRDELIV: u16 = 8;

/// `epb_flags`; `pack_flags` of the obsolete packet block has the same code and meaning.
pub(super) const EPB_FLAGS: u16 = 2;
pub(super) const EPB_DROPCOUNT: u16 = 4;

/// The options in `bytes` as code and value, up to the end mark or the first invalid one.
pub(super) fn iterate(
    byte_order: ByteOrder,
    mut bytes: &[u8],
) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [a, b, c, d] = *bytes.first_chunk()?;
        let (code, len) = (byte_order.u16([a, b]), usize::from(byte_order.u16([c, d])));
        let value = bytes.get(4..4 + len)?;
        bytes = bytes.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        (code != END_OF_OPTIONS).then_some((code, value))
    })
}

/// The value of the first option with this code among those that pcap-parser read.
pub(super) fn find<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<&'a [u8]> {
    let used = options.iter().take_while(|option| option.code.0 != END_OF_OPTIONS);
    let mut values = used.filter(|option| option.code.0 == code);
    values.next()?.as_bytes().ok()
}

/// A 32-bit number; `None` if the value has another size.
pub(super) fn u32_of(byte_order: ByteOrder, value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(|bytes| byte_order.u32(bytes))
}

/// A time in an option, whose upper half comes first; `None` if the value has another size.
pub(super) fn time_of(byte_order: ByteOrder, value: &[u8]) -> Option<u64> {
    let (high, low) = value.split_at_checked(4)?;
    let [high, low] = [u32_of(byte_order, high)?, u32_of(byte_order, low)?];
    Some(u64::from(high) << 32 | u64::from(low))
}

/// A 64-bit number; `None` if the value has another size.
pub(super) fn u64_of(byte_order: ByteOrder, value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(|bytes| byte_order.u64(bytes))
}
