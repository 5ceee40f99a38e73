//! TCP and UDP: ports, and where the datagram ends.

use etherparse::{TcpHeaderSlice, err};

use super::cursor::{Cursor, saturate};
use super::error::{DecodeError, Layer, Limit};
use super::packet::{Ports, TcpFlags, TcpSegment};

/// A UDP header and its datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Udp<'a> {
    /// Source and destination port.
    pub(super) ports: Ports,
    /// The captured bytes of the datagram, including its header.
    pub(super) datagram: &'a [u8],
    /// Whether the datagram fills the IP packet, as it should.
    pub(super) fills_packet: bool,
}

/// Reads a UDP header.
///
/// ```text
/// byte 0..1         2..3              4..5    6..7
///      source port  destination port  length  checksum
/// ```
#[inline(always)]
pub(super) fn udp<'a>(cursor: &mut Cursor<'a>) -> Result<Udp<'a>, DecodeError> {
    let &[s0, s1, d0, d1, l0, l1, _, _] = cursor.peek::<8>(Layer::Udp)?;
    let ports =
        Ports { source: u16::from_be_bytes([s0, s1]), destination: u16::from_be_bytes([d0, d1]) };
    let len = usize::from(u16::from_be_bytes([l0, l1]));
    let fills_packet = len == cursor.len();
    match len {
        // A jumbogram (RFC 2675), or a datagram that the NIC will segment: the packet's end counts.
        0 => {}
        1..8 => return Err(cursor.refuse(Layer::Udp)),
        // A datagram cannot be longer than its packet: here, too, the packet's end counts.
        _ if len > cursor.len() => {}
        _ => cursor.follow(len, Limit::UdpLength),
    }
    let datagram = cursor.bytes();
    cursor.take::<8>(Layer::Udp)?;
    Ok(Udp { ports, datagram, fills_packet })
}

/// Reads a TCP header.
pub(super) fn tcp<'a>(cursor: &mut Cursor<'a>) -> Result<TcpSegment<'a>, DecodeError> {
    use err::tcp::HeaderSliceError::{Content, Len};
    let header = TcpHeaderSlice::from_slice(cursor.bytes()).map_err(|error| match error {
        Len(error) => cursor.too_short(Layer::Tcp, error.required_len),
        Content(_) => cursor.refuse(Layer::Tcp),
    })?;
    let ports = Ports { source: header.source_port(), destination: header.destination_port() };
    let (sequence, acknowledgment) = (header.sequence_number(), header.acknowledgment_number());
    let flags = TcpFlags(header.slice().get(13).copied().unwrap_or_default());
    cursor.take_len(header.slice().len(), Layer::Tcp)?;
    let (payload, payload_len) = (cursor.bytes(), saturate(cursor.len()));
    let window = header.window_size();
    Ok(TcpSegment { ports, sequence, acknowledgment, flags, window, payload, payload_len })
}
