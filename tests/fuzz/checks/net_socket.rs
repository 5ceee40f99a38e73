//! One socket of NET/Socket. The first byte is its index; a byte before each further piece gives the
//! speaker and the length.

use railscope_core::flow::tcp_stream::sink::{
    Chunk, ConnectionId, Ending, Side, StreamSink, TcpConnection,
};
use railscope_core::link::control::facts::SocketMessage;
use railscope_core::link::control::plane::{ControlConfig, ControlPlane};
use railscope_core::model::tap::TapId;
use railscope_core::model::time::Timestamp;

/// `NCCL_SOCKET_MAGIC`, and the type of NET/Socket.
const GREETING: [u8; 12] = [0x6c, 0x9d, 0x4b, 0xfc, 0xf2, 0xb9, 0x4a, 0x56, 3, 0, 0, 0];

/// Bytes kept of one connection: a message has at least the four bytes of its size.
const KEPT_PER_BYTE: usize = 16;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let whole = talk(data, usize::MAX);
    assert_eq!(whole, talk(data, 1), "the result does not depend on how the bytes are cut");
    let numbers: Vec<u64> = whole.iter().map(|message| message.number).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
}

fn talk(data: &[u8], longest: usize) -> Vec<SocketMessage> {
    let mut plane = ControlPlane::new(ControlConfig::default());
    let [client, server] = [40_000, 50_000].map(|port| ([192, 0, 2, 1], port).into());
    let id = ConnectionId(0);
    plane.opened(id, &TcpConnection { tap: TapId(0), client, server, is_from_start: true });
    let (time, number) = (Timestamp::from_nanos(1), 1);
    let Some((index, mut rest)) = data.split_first() else { return Vec::new() };
    let _ = plane.bytes(id, Side::Client, Chunk { bytes: &GREETING, time, number });
    let _ = plane.bytes(id, Side::Client, Chunk { bytes: &[*index], time, number });
    while let Some((&head, after)) = rest.split_first() {
        let side = if head & 0x80 == 0 { Side::Client } else { Side::Server };
        let (bytes, after) = after.split_at(after.len().min(usize::from(head & 0x7f) * 2));
        rest = after;
        match bytes {
            [] => _ = plane.gap(id, side, u64::from(head & 0x7f) + 1),
            // A receiver sends nothing but ACKs.
            &[first, ..] if side == Side::Server => plane.window(id, side, first == 0, time),
            _ => {
                for bytes in bytes.chunks(longest) {
                    let _ = plane.bytes(id, side, Chunk { bytes, time, number });
                }
            }
        }
        assert!(plane.kept_bytes() <= data.len() * KEPT_PER_BYTE + 8192);
    }
    plane.closed(id, Ending::Finished, time);
    let facts = plane.facts();
    facts.sockets.iter().flat_map(|socket| socket.messages.iter().copied()).collect()
}
