//! Packets of reliable connections, as far as RDMA WRITE needs them, and CNPs: the bytes between
//! the UDP header and the ICRC.
//!
//! InfiniBand Architecture Specification 1.4, volume 1, chapter 9 (9.2 base transport header, 9.3
//! extended headers, 9.7.5.2 AETH); RoCEv2 is annex A17, CNP its section 9.3.
//!
//! ```text
//! byte 0      1               2..3    4         5..7   8     9..11
//!      opcode SE|M|pad|TVer   P_Key   F|B|resv  QPN    A|..  PSN
//! ```

/// UDP port of RoCEv2.
pub const PORT: u16 = 4791;

/// Bytes of the base transport header.
pub const BTH_BYTES: usize = 12;

/// Bytes of the ICRC, after the payload and its padding.
pub const ICRC_BYTES: usize = 4;

/// Most bytes that a packet adds to its payload: BTH, RETH, immediate, padding, ICRC.
pub const OVERHEAD_BYTES: usize = BTH_BYTES + 16 + 4 + 3 + ICRC_BYTES;

const DEFAULT_P_KEY: u16 = 0xffff;
/// M: the path is migrated, the initial state without an alternate path.
const MIGRATED: u8 = 0x40;
const BECN: u8 = 0x40;
const ACK_REQUEST: u8 = 0x80;
const CNP: u8 = 0x81;
const ACKNOWLEDGE: u8 = 0x11;

/// A RoCEv2 packet, from the BTH on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Destination queue pair, 24 bits.
    pub qpn: u32,
    /// 24 bits; 0 in a CNP.
    pub psn: u32,
    /// Content by kind.
    pub body: Body<'a>,
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A part of an RDMA WRITE.
    Write(WritePart<'a>),
    /// ACK or NAK.
    Answer(Answer),
    /// Congestion notification.
    Cnp,
}

/// A part of an RDMA WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePart<'a> {
    /// RETH, in the first packet of a message only.
    pub target: Option<Target>,
    /// Whether it is the message's last packet.
    pub end: End,
    /// Whether the responder must acknowledge at once.
    pub ack_request: bool,
    /// Data, without padding and ICRC.
    pub payload: &'a [u8],
}

/// Whether a packet is the last of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// More packets follow.
    More,
    /// The last packet.
    Last,
    /// The last packet, with an immediate.
    LastWithImmediate([u8; 4]),
}

/// RETH: the destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Virtual address at the responder.
    pub address: u64,
    /// Key of the address.
    pub rkey: u32,
    /// Size of the whole message.
    pub bytes: u32,
}

/// AETH: the responder's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// ACK or NAK.
    pub syndrome: Syndrome,
    /// Messages completed so far, 24 bits.
    pub msn: u32,
}

/// Meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to the PSN was received. Sent without a credit limit.
    Ack,
    /// No receive was posted; the code of the RNR delay.
    ReceiverNotReady(u8),
    /// The PSN is the missing one.
    SequenceError,
    /// The request is malformed or not supported.
    InvalidRequest,
    /// The key or the range is wrong.
    RemoteAccessError,
    /// The responder failed.
    RemoteOperationalError,
}

/// Why bytes are not a packet for this adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer bytes than the headers need.
    #[error("it is cut short")]
    Short,
    /// An opcode that NET/IB does not use.
    #[error("its opcode {0:#04x} is none of RDMA WRITE, ACK and CNP")]
    Opcode(u8),
    /// A reserved or unknown syndrome.
    #[error("its syndrome {0:#04x} is reserved")]
    Syndrome(u8),
}

impl Packet<'_> {
    /// Appends the packet without its ICRC.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (payload, ack_request): (&[u8], bool) = match self.body {
            Body::Write(part) => (part.payload, part.ack_request),
            Body::Answer(_) | Body::Cnp => (&[], false),
        };
        let padding = payload.len().wrapping_neg() % 4;
        let congestion = if self.body == Body::Cnp { BECN } else { 0 };
        let flags = MIGRATED | (padding as u8) << 4;
        out.extend_from_slice(&[self.body.opcode(), flags]);
        out.extend_from_slice(&DEFAULT_P_KEY.to_be_bytes());
        out.push(congestion);
        out.extend_from_slice(&bytes24(self.qpn));
        out.push(if ack_request { ACK_REQUEST } else { 0 });
        out.extend_from_slice(&bytes24(self.psn));
        match self.body {
            Body::Write(part) => {
                if let Some(target) = part.target {
                    out.extend_from_slice(&target.address.to_be_bytes());
                    out.extend_from_slice(&target.rkey.to_be_bytes());
                    out.extend_from_slice(&target.bytes.to_be_bytes());
                }
                if let End::LastWithImmediate(immediate) = part.end {
                    out.extend_from_slice(&immediate);
                }
                out.extend_from_slice(payload);
                out.extend_from_slice(&[0; 3][..padding]);
            }
            Body::Answer(answer) => {
                out.push(answer.syndrome.byte());
                out.extend_from_slice(&bytes24(answer.msn));
            }
            Body::Cnp => out.extend_from_slice(&[0; 16]),
        }
    }
}

impl<'a> Packet<'a> {
    /// Parses the bytes between UDP header and ICRC.
    ///
    /// # Errors
    /// The packet is truncated or of a kind that this adapter does not use.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (bth, rest) = bytes.split_first_chunk::<BTH_BYTES>().ok_or(Malformed::Short)?;
        let [opcode, flags, _, _, _, q0, q1, q2, a, p0, p1, p2] = *bth;
        let body = match opcode {
            CNP => Body::Cnp,
            ACKNOWLEDGE => Body::Answer(Answer::parse(rest)?),
            0x06..=0x0b => {
                let padding = usize::from(flags >> 4 & 3);
                let ack_request = a & ACK_REQUEST != 0;
                Body::Write(WritePart::parse(opcode, padding, ack_request, rest)?)
            }
            other => return Err(Malformed::Opcode(other)),
        };
        let qpn = u32::from_be_bytes([0, q0, q1, q2]);
        Ok(Self { qpn, psn: u32::from_be_bytes([0, p0, p1, p2]), body })
    }
}

impl Body<'_> {
    fn opcode(&self) -> u8 {
        match self {
            Self::Write(part) => match (part.target.is_some(), part.end) {
                (true, End::More) => 0x06,
                (false, End::More) => 0x07,
                (false, End::Last) => 0x08,
                (false, End::LastWithImmediate(_)) => 0x09,
                (true, End::Last) => 0x0a,
                (true, End::LastWithImmediate(_)) => 0x0b,
            },
            Self::Answer(_) => ACKNOWLEDGE,
            Self::Cnp => CNP,
        }
    }
}

impl<'a> WritePart<'a> {
    fn parse(
        opcode: u8,
        padding: usize,
        ack_request: bool,
        mut rest: &'a [u8],
    ) -> Result<Self, Malformed> {
        let mut target = None;
        if matches!(opcode, 0x06 | 0x0a | 0x0b) {
            let (reth, behind) = rest.split_first_chunk::<16>().ok_or(Malformed::Short)?;
            target = Some(Target::parse(reth));
            rest = behind;
        }
        let mut end = if matches!(opcode, 0x06 | 0x07) { End::More } else { End::Last };
        if matches!(opcode, 0x09 | 0x0b) {
            let (immediate, behind) = rest.split_first_chunk::<4>().ok_or(Malformed::Short)?;
            end = End::LastWithImmediate(*immediate);
            rest = behind;
        }
        let bytes = rest.len().checked_sub(padding).ok_or(Malformed::Short)?;
        Ok(Self { target, end, ack_request, payload: &rest[..bytes] })
    }
}

impl Target {
    fn parse(reth: &[u8; 16]) -> Self {
        let [a0, a1, a2, a3, a4, a5, a6, a7, k0, k1, k2, k3, n0, n1, n2, n3] = *reth;
        Self {
            address: u64::from_be_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
            rkey: u32::from_be_bytes([k0, k1, k2, k3]),
            bytes: u32::from_be_bytes([n0, n1, n2, n3]),
        }
    }
}

impl Answer {
    fn parse(rest: &[u8]) -> Result<Self, Malformed> {
        let ([syndrome, m0, m1, m2], _) = rest.split_first_chunk::<4>().ok_or(Malformed::Short)?;
        let syndrome = Syndrome::parse(*syndrome)?;
        Ok(Self { syndrome, msn: u32::from_be_bytes([0, *m0, *m1, *m2]) })
    }
}

impl Syndrome {
    fn byte(self) -> u8 {
        match self {
            Self::Ack => 0x1f,
            Self::ReceiverNotReady(timer) => 0x20 | timer & 0x1f,
            Self::SequenceError => 0x60,
            Self::InvalidRequest => 0x61,
            Self::RemoteAccessError => 0x62,
            Self::RemoteOperationalError => 0x63,
        }
    }

    fn parse(byte: u8) -> Result<Self, Malformed> {
        match byte {
            0x00..=0x1f => Ok(Self::Ack),
            0x20..=0x3f => Ok(Self::ReceiverNotReady(byte & 0x1f)),
            0x60 => Ok(Self::SequenceError),
            0x61 => Ok(Self::InvalidRequest),
            0x62 => Ok(Self::RemoteAccessError),
            0x63 => Ok(Self::RemoteOperationalError),
            other => Err(Malformed::Syndrome(other)),
        }
    }
}

/// The low 24 bits, in wire order.
fn bytes24(value: u32) -> [u8; 3] {
    let [_, a, b, c] = value.to_be_bytes();
    [a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(target: Option<Target>, end: End, payload: &[u8]) -> Packet<'_> {
        let part = WritePart { target, end, ack_request: end != End::More, payload };
        Packet { qpn: 0x00ab_cdef, psn: 0x0012_3456, body: Body::Write(part) }
    }

    fn encoded(packet: &Packet<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        bytes
    }

    #[test]
    fn a_write_with_immediate_is_laid_out_as_the_specification_says() {
        let target = Target { address: 0x7f01_0203_0405_0607, rkey: 0x1122_3344, bytes: 5 };
        let packet = write(Some(target), End::LastWithImmediate([9, 8, 7, 6]), b"hello");
        let expected = [
            &[0x0b, 0x70, 0xff, 0xff, 0x00, 0xab, 0xcd, 0xef, 0x80, 0x12, 0x34, 0x56][..],
            &[0x7f, 1, 2, 3, 4, 5, 6, 7, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 5],
            &[9, 8, 7, 6],
            b"hello\0\0\0",
        ];
        assert_eq!(encoded(&packet), expected.concat());
    }

    #[test]
    fn a_cnp_carries_sixteen_zero_bytes_and_becn() {
        let bytes = encoded(&Packet { qpn: 0x12, psn: 0, body: Body::Cnp });
        assert_eq!(bytes[..12], [0x81, 0x40, 0xff, 0xff, 0x40, 0, 0, 0x12, 0, 0, 0, 0]);
        assert_eq!(bytes[12..], [0; 16]);
    }

    #[test]
    fn what_is_encoded_is_parsed_and_no_prefix_panics() {
        let target = Some(Target { address: 1, rkey: 2, bytes: 3 });
        let ends = [End::More, End::Last, End::LastWithImmediate([1, 2, 3, 4])];
        let mut packets: Vec<_> = ends
            .into_iter()
            .flat_map(|end| [None, target].map(|target| write(target, end, b"seven!!")))
            .collect();
        for byte in 0..=0xff {
            let Ok(syndrome) = Syndrome::parse(byte) else { continue };
            let body = Body::Answer(Answer { syndrome, msn: 0x00fe_dcba });
            packets.push(Packet { qpn: 7, psn: 0x00ff_ffff, body });
        }
        packets.push(Packet { qpn: 7, psn: 0, body: Body::Cnp });
        for packet in packets {
            let bytes = encoded(&packet);
            assert_eq!(Packet::parse(&bytes), Ok(packet));
            for end in 0..bytes.len() {
                let _ = Packet::parse(&bytes[..end]);
            }
        }
    }

    #[test]
    fn padding_beyond_the_payload_is_refused() {
        let mut bytes = encoded(&write(None, End::Last, &[]));
        bytes[1] |= 0x30;
        assert_eq!(Packet::parse(&bytes), Err(Malformed::Short));
    }
}
