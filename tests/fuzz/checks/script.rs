//! Bytes as a script of RoCE packets, six per packet: a fuzzer that changes one byte changes one
//! thing (a PSN, a time, an opcode) and reaches the state machines behind the decoder.
//!
//! ```text
//! byte 0        1                          2          3           4           5
//!      opcode   pair, way, ECN, ACK, ID    PSN delta  syndrome    time delta  length
//! ```

/// Bytes of one packet.
pub const PACKET_BYTES: usize = 6;

/// Opcodes that a script can use, the common ones twice.
const OPCODES: [u8; 32] = [
    0x04, 0x04, 0x00, 0x01, 0x02, 0x0a, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x03, 0x0c, 0x0c, 0x0d, 0x0e,
    0x0f, 0x10, 0x11, 0x11, 0x12, 0x13, 0x14, 0x81, 0x24, 0x26, 0x28, 0x64, 0x1c, 0x1d, 0xa4, 0xff,
];

/// Actions besides RoCE packets.
const ANNOUNCE: u8 = 0xfe;
const REPEAT: u8 = 0xfd;
const PAUSE: u8 = 0xfc;

/// Gaps between packets in nanoseconds, selected by the high nibble and multiplied by the low one.
/// With the last two the clock runs backwards or jumps.
const TIME_UNITS: [i64; 16] = [
    0,
    100,
    1_000,
    1_000,
    3_000,
    10_000,
    10_000,
    30_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1 << 40,
    1 << 59,
    -1_000_000,
    -10_000,
];

/// The next event at the tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A packet.
    Packet(ScriptedPacket),
    /// A REQ, or the REP to it, with the pair's QPNs.
    Announce(ScriptedPacket),
    /// The previous frame once more.
    Repeat,
    /// Priority flow control.
    Pause {
        /// Bit mask of priorities.
        enabled: u8,
        /// Pause time in quanta.
        quanta: u16,
    },
}

/// A packet that the script asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedPacket {
    /// BTH opcode.
    pub opcode: u8,
    /// Index of the queue pair, 0 to 3.
    pub pair: usize,
    /// From the second host to the first.
    pub is_backward: bool,
    /// ECN codepoint.
    pub ecn: u8,
    /// The BTH asks for an ACK.
    pub ack_request: bool,
    /// The IPv4 identification increases; else it is 0.
    pub has_identification: bool,
    /// Relative to the next PSN in order; `None` for PSN 0.
    pub psn_delta: Option<i32>,
    /// Syndrome of the AETH; also selects the distance of identifications.
    pub syndrome: u8,
    /// Payload, or the length that a READ requests.
    pub bytes: u32,
}

/// The actions of a script, each with the time since the previous one.
pub fn actions(script: &[u8]) -> impl Iterator<Item = (i64, Action)> + '_ {
    let (packets, _) = script.as_chunks::<PACKET_BYTES>();
    packets.iter().map(|bytes| {
        let [_, _, _, _, time, _] = *bytes;
        let unit = TIME_UNITS[usize::from(time >> 4)];
        (unit.saturating_mul(i64::from(time & 0x0f)), action(*bytes))
    })
}

fn action([opcode, flags, psn, syndrome, _, length]: [u8; PACKET_BYTES]) -> Action {
    let packet = ScriptedPacket {
        opcode: OPCODES[usize::from(opcode) % OPCODES.len()],
        pair: usize::from(flags & 3),
        is_backward: flags & 4 != 0,
        ecn: flags >> 3 & 3,
        ack_request: flags & 0x20 != 0,
        has_identification: flags & 0x40 == 0,
        psn_delta: match psn as i8 {
            i8::MIN => None,
            // Far jumps: powers of two, up to half of the PSN space.
            far @ 100.. => Some(1 << (far - 100).min(23)),
            near => Some(i32::from(near)),
        },
        syndrome,
        bytes: match length {
            0..64 => u32::from(length) * 16,
            64..128 => 256,
            128..192 => 1024,
            _ => 1 << (length & 31),
        },
    };
    match opcode {
        ANNOUNCE => Action::Announce(packet),
        REPEAT => Action::Repeat,
        PAUSE => Action::Pause { enabled: flags, quanta: u16::from_be_bytes([psn, syndrome]) },
        _ => Action::Packet(packet),
    }
}
