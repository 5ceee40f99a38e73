//! TCP connections without end: what a scan or a flood looks like to a tap.
//!
//! Each connection has its own addresses and ports. It opens, sends bytes of no protocol that railscope
//! knows, and then leaves a hole before its next bytes, which a reader has to keep in case the hole is
//! filled.

use std::io::{self, Write};

use super::pcap;
use super::wire;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

const HEADERS_LEN: usize = 14 + 20 + 20;
const FIRST_LEN: usize = 64;
const HOLE_LEN: u32 = 100;
const AFTER_HOLE_LEN: usize = 1024;

/// Frames of one connection.
pub(super) const FRAMES: u64 = 3;

/// Between two frames.
const GAP_NS: u64 = 1000;

const CLIENT_PORTS: u32 = 50_000;
const FIRST_CLIENT_PORT: u32 = 10_000;
const SERVER_PORT: u16 = 29_500;

/// Writes a pcap of `connections` connections.
pub(super) fn write(connections: u32, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&pcap::FILE_HEADER)?;
    let mut time_ns = 1_000_000_000;
    for connection in 0..connections {
        let sequence = connection.wrapping_mul(0x9e37_79b1);
        let after_hole = sequence.wrapping_add(1 + FIRST_LEN as u32 + HOLE_LEN);
        let segments = [
            (SYN, sequence, 0),
            (ACK, sequence.wrapping_add(1), FIRST_LEN),
            (ACK, after_hole, AFTER_HOLE_LEN),
        ];
        for (flags, sequence, payload_len) in segments {
            let frame = frame(connection, flags, sequence, payload_len);
            out.write_all(&pcap::record_header(time_ns, frame.len(), frame.len() as u32))?;
            out.write_all(&frame)?;
            time_ns += GAP_NS;
        }
    }
    out.flush()
}

/// A segment from a client in 10.0.0.0/8 to one in 172.16.0.0/12.
fn frame(connection: u32, flags: u8, sequence: u32, payload_len: usize) -> Vec<u8> {
    let (client, port) = (connection / CLIENT_PORTS, connection % CLIENT_PORTS);
    let port = (FIRST_CLIENT_PORT + port) as u16;
    let ip_len = (HEADERS_LEN - 14 + payload_len) as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    let mut ipv4 = vec![0x45, 0];
    ipv4.extend(ip_len.to_be_bytes());
    // Identification 0, not to be fragmented, 64 hops, TCP; the checksum comes last.
    ipv4.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    ipv4.extend((0x0a00_0001 + client).to_be_bytes());
    ipv4.extend((0xac10_0001 + connection % 1000).to_be_bytes());
    let checksum = wire::ipv4_checksum(&ipv4);
    ipv4[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(ipv4);
    frame.extend(port.to_be_bytes());
    frame.extend(SERVER_PORT.to_be_bytes());
    frame.extend(sequence.to_be_bytes());
    frame.extend([0; 4]);
    // Five words of header, the window, no checksum (senders that offload it leave it out too).
    frame.extend([5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.extend((0..payload_len).map(|at| at as u8 ^ connection as u8));
    frame
}

#[cfg(test)]
mod tests {
    use super::{FRAMES, frame, write};
    use crate::bench::pcap;
    use crate::bench::wire;

    #[test]
    fn connections_differ() {
        let mut capture = Vec::new();
        write(60_000, &mut capture).unwrap();
        let (_, records) = pcap::parse(&capture).unwrap();
        assert_eq!(records.len() as u64, 60_000 * FRAMES);
        let ends = records.iter().map(|record| record.frame[26..38].to_vec());
        assert_eq!(ends.collect::<std::collections::BTreeSet<_>>().len(), 60_000);
        // A checksum over a header with its checksum is zero.
        assert_eq!(wire::ipv4_checksum(&frame(7, 2, 0, 5)[14..34]), 0);
    }
}
