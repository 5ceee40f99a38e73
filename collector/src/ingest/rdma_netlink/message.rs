//! Requests and answers of the RDMA subsystem over netlink (linux `rdma/rdma_netlink.h`): a header,
//! then attributes, some of which hold attributes.

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer,
    NetlinkHeader, NlasIterator,
};

/// `RDMA_NL_NLDEV`, the client of the subsystem that lists devices and what they hold.
const CLIENT: u16 = 5;

/// A request (`enum rdma_nldev_command`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Command {
    /// `RDMA_NLDEV_CMD_GET`: devices.
    Devices = 1,
    /// `RDMA_NLDEV_CMD_RES_QP_GET`: queue pairs of a device.
    QueuePairs = 10,
    /// `RDMA_NLDEV_CMD_STAT_GET`: counters of a port.
    Statistics = 17,
}

/// Attributes (`enum rdma_nldev_attr`).
pub mod attribute {
    /// Number of a device; u32.
    pub const DEV_INDEX: u16 = 1;
    /// Name of a device; text.
    pub const DEV_NAME: u16 = 2;
    /// Port; u32. For a device, the number of ports.
    pub const PORT_INDEX: u16 = 3;
    /// Queue pairs.
    pub const RES_QP: u16 = 19;
    /// A queue pair.
    pub const RES_QP_ENTRY: u16 = 20;
    /// Its number; u32.
    pub const RES_LQPN: u16 = 21;
    /// The other end's number; u32.
    pub const RES_RQPN: u16 = 22;
    /// `enum ib_qp_type`; u8.
    pub const RES_TYPE: u16 = 26;
    /// `enum ib_qp_state`; u8.
    pub const RES_STATE: u16 = 27;
    /// Its process; u32.
    pub const RES_PID: u16 = 28;
    /// Its part of the kernel; text.
    pub const RES_KERN_NAME: u16 = 29;
    /// Counters.
    pub const STAT_HWCOUNTERS: u16 = 80;
    /// A counter.
    pub const STAT_HWCOUNTER_ENTRY: u16 = 81;
    /// Its name; text.
    pub const STAT_HWCOUNTER_ENTRY_NAME: u16 = 82;
    /// Value of a hardware counter; u64.
    pub const STAT_HWCOUNTER_ENTRY_VALUE: u16 = 83;
}

/// `NLMSG_ERROR` and `NLMSG_DONE` of linux/netlink.h.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// A request with attributes of 32 bits. A dump is answered by many messages and an end, any other request
/// by one message and an acknowledgement.
#[must_use]
pub fn request(command: Command, is_dump: bool, number: u32, attributes: &[(u16, u32)]) -> Vec<u8> {
    let attributes =
        attributes.iter().map(|(kind, value)| DefaultNla::new(*kind, value.to_ne_bytes().to_vec()));
    let attributes: Vec<DefaultNla> = attributes.collect();
    let mut header = NetlinkHeader::default();
    let attributes = attributes.as_slice();
    let length = header.buffer_len() + attributes.buffer_len();
    header.length = length as u32;
    header.message_type = CLIENT << 10 | command as u16;
    header.flags = NLM_F_REQUEST | if is_dump { NLM_F_DUMP } else { NLM_F_ACK };
    header.sequence_number = number;
    let mut bytes = vec![0; length];
    let (head, rest) = bytes.split_at_mut(header.buffer_len());
    header.emit(head);
    attributes.emit(rest);
    bytes
}

/// One message of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Attributes of one entry.
    Attributes(&'a [u8]),
    /// The answer is complete.
    End,
    /// The kernel refused, with this error number.
    Refused(i32),
}

/// The messages in a datagram that answer request `number`, each with whether the list changed meanwhile, so
/// that entries may be missing. Truncated messages are left out.
pub fn messages(datagram: &[u8], number: u32) -> impl Iterator<Item = (Message<'_>, bool)> {
    let mut rest = datagram;
    let buffers = std::iter::from_fn(move || {
        let message = NetlinkBuffer::new_checked(rest).ok()?;
        let length = (message.length() as usize).next_multiple_of(4);
        rest = rest.get(length..).unwrap_or_default();
        Some(message)
    });
    let ours = buffers.filter(move |message| message.sequence_number() == number);
    ours.map(|message| {
        let error = || message.payload().first_chunk().map(|error| i32::from_ne_bytes(*error));
        let read = match message.message_type() {
            DONE => Message::End,
            // An acknowledgement is an error of number 0.
            ERROR => match error() {
                Some(0) => Message::End,
                error => Message::Refused(error.map_or(0, i32::wrapping_neg)),
            },
            _ => Message::Attributes(message.payload()),
        };
        (read, message.flags() & NLM_F_DUMP_INTR != 0)
    })
}

/// Attributes with their kinds; reading ends at a truncated one.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).map_while(Result::ok).filter_map(|attribute| {
        let (kind, length) = (attribute.kind(), attribute.length() as usize);
        Some((kind, attribute.into_inner().get(4..length)?))
    })
}

/// A number of 8 bits.
#[must_use]
pub fn number_u8(value: &[u8]) -> Option<u8> {
    value.first().copied()
}

/// A number of 32 bits.
#[must_use]
pub fn number_u32(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// A number of 64 bits.
#[must_use]
pub fn number_u64(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Text, up to its first 0.
#[must_use]
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(value.get(..end).unwrap_or_default()).into_owned()
}
