//! BTH opcodes: transport and operation in one byte (IBTA volume 1, table 38; Linux
//! `include/rdma/ib_pack.h`), and what each carries.
//!
//! ```text
//! bit 7..5   4..0
//!     transport  operation
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

/// The transport service that the top three bits of an opcode name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram.
    Rd,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification packets: the RoCEv2 annex's opcode 0x81.
    Cnp,
    /// Extended reliable connection.
    Xrc,
    /// No transport that is defined.
    Other,
}

/// The operation that the low five bits of an opcode name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the specification's own names")]
pub enum Operation {
    SendFirst,
    SendMiddle,
    SendLast,
    SendLastWithImmediate,
    SendOnly,
    SendOnlyWithImmediate,
    RdmaWriteFirst,
    RdmaWriteMiddle,
    RdmaWriteLast,
    RdmaWriteLastWithImmediate,
    RdmaWriteOnly,
    RdmaWriteOnlyWithImmediate,
    RdmaReadRequest,
    RdmaReadResponseFirst,
    RdmaReadResponseMiddle,
    RdmaReadResponseLast,
    RdmaReadResponseOnly,
    Acknowledge,
    AtomicAcknowledge,
    CompareSwap,
    FetchAdd,
    Resync,
    SendLastWithInvalidate,
    SendOnlyWithInvalidate,
    Flush,
    AtomicWrite,
    Cnp,
}

/// A BTH opcode. Every value is kept, also those that no specification defines.
#[doc(alias = "infiniband.bth.opcode")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Opcode(pub u8);

/// What an opcode says of its packet; one byte-sized look-up for the hot path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u16);

#[expect(missing_docs, reason = "each is named after the header or property it stands for")]
impl Traits {
    pub const RDETH: Self = Self(1);
    pub const DETH: Self = Self(1 << 1);
    pub const XRCETH: Self = Self(1 << 2);
    pub const FETH: Self = Self(1 << 3);
    pub const RETH: Self = Self(1 << 4);
    pub const ATOMIC_ETH: Self = Self(1 << 5);
    pub const AETH: Self = Self(1 << 6);
    pub const ATOMIC_ACK_ETH: Self = Self(1 << 7);
    pub const IMMEDIATE: Self = Self(1 << 8);
    pub const IETH: Self = Self(1 << 9);
    /// Part of the request space of PSNs.
    pub const REQUEST: Self = Self(1 << 10);
    /// Part of the response space of PSNs, which repeats the other side's numbers.
    pub const RESPONSE: Self = Self(1 << 11);
    /// First (or only) packet of a message.
    pub const STARTS: Self = Self(1 << 12);
    /// Last (or only) packet of a message.
    pub const ENDS: Self = Self(1 << 13);
    /// Carries the bytes of a message.
    pub const PAYLOAD: Self = Self(1 << 14);
    /// A READ request: the answer takes as many PSNs as it has packets.
    pub const READ: Self = Self(1 << 15);

    /// Whether all of `other` hold.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` holds.
    #[must_use]
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

static TRAITS: [Traits; 256] = {
    let mut table = [Traits(0); 256];
    let mut value = 0;
    while value < 256 {
        table[value] = Opcode(value as u8).derive_traits();
        value += 1;
    }
    table
};

static OPERATIONS: [Option<Operation>; 256] = {
    let mut table = [None; 256];
    let mut value = 0;
    while value < 256 {
        table[value] = Opcode(value as u8).derive_operation();
        value += 1;
    }
    table
};

impl Opcode {
    /// Congestion notification packet (RoCEv2 annex A17).
    pub const CNP: Self = Self(0x81);

    /// The transport service.
    #[must_use]
    pub const fn transport(self) -> Transport {
        match self.0 >> 5 {
            0 => Transport::Rc,
            1 => Transport::Uc,
            2 => Transport::Rd,
            3 => Transport::Ud,
            4 if self.0 == 0x81 => Transport::Cnp,
            5 => Transport::Xrc,
            _ => Transport::Other,
        }
    }

    /// The operation; `None` when the transport does not define it.
    #[inline]
    #[must_use]
    pub fn operation(self) -> Option<Operation> {
        OPERATIONS[usize::from(self.0)]
    }

    const fn derive_operation(self) -> Option<Operation> {
        use Operation as O;
        use Transport as T;
        let transport = self.transport();
        let operation = match self.0 & 0x1f {
            _ if matches!(transport, T::Cnp) => O::Cnp,
            0x00 => O::SendFirst,
            0x01 => O::SendMiddle,
            0x02 => O::SendLast,
            0x03 => O::SendLastWithImmediate,
            0x04 => O::SendOnly,
            0x05 => O::SendOnlyWithImmediate,
            0x06 => O::RdmaWriteFirst,
            0x07 => O::RdmaWriteMiddle,
            0x08 => O::RdmaWriteLast,
            0x09 => O::RdmaWriteLastWithImmediate,
            0x0a => O::RdmaWriteOnly,
            0x0b => O::RdmaWriteOnlyWithImmediate,
            0x0c => O::RdmaReadRequest,
            0x0d => O::RdmaReadResponseFirst,
            0x0e => O::RdmaReadResponseMiddle,
            0x0f => O::RdmaReadResponseLast,
            0x10 => O::RdmaReadResponseOnly,
            0x11 => O::Acknowledge,
            0x12 => O::AtomicAcknowledge,
            0x13 => O::CompareSwap,
            0x14 => O::FetchAdd,
            0x15 => O::Resync,
            0x16 => O::SendLastWithInvalidate,
            0x17 => O::SendOnlyWithInvalidate,
            0x1c => O::Flush,
            0x1d => O::AtomicWrite,
            _ => return None,
        };
        let defined = match transport {
            T::Rc | T::Xrc => !matches!(operation, O::Resync),
            T::Uc => self.0 & 0x1f <= 0x0b,
            T::Rd => self.0 & 0x1f <= 0x15 || matches!(operation, O::Flush),
            T::Ud => matches!(operation, O::SendOnly | O::SendOnlyWithImmediate),
            T::Cnp => true,
            T::Other => false,
        };
        if defined { Some(operation) } else { None }
    }

    /// What the opcode says of its packet: headers, place in the message, PSN space.
    #[inline]
    #[must_use]
    pub fn traits(self) -> Traits {
        TRAITS[usize::from(self.0)]
    }

    /// Linux's name (`rdma/ib_pack.h`) without `IB_OPCODE_<transport>_`; `None` when unknown.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        use Operation as O;
        Some(match self.operation()? {
            O::SendFirst => "SEND_FIRST",
            O::SendMiddle => "SEND_MIDDLE",
            O::SendLast => "SEND_LAST",
            O::SendLastWithImmediate => "SEND_LAST_WITH_IMMEDIATE",
            O::SendOnly => "SEND_ONLY",
            O::SendOnlyWithImmediate => "SEND_ONLY_WITH_IMMEDIATE",
            O::RdmaWriteFirst => "RDMA_WRITE_FIRST",
            O::RdmaWriteMiddle => "RDMA_WRITE_MIDDLE",
            O::RdmaWriteLast => "RDMA_WRITE_LAST",
            O::RdmaWriteLastWithImmediate => "RDMA_WRITE_LAST_WITH_IMMEDIATE",
            O::RdmaWriteOnly => "RDMA_WRITE_ONLY",
            O::RdmaWriteOnlyWithImmediate => "RDMA_WRITE_ONLY_WITH_IMMEDIATE",
            O::RdmaReadRequest => "RDMA_READ_REQUEST",
            O::RdmaReadResponseFirst => "RDMA_READ_RESPONSE_FIRST",
            O::RdmaReadResponseMiddle => "RDMA_READ_RESPONSE_MIDDLE",
            O::RdmaReadResponseLast => "RDMA_READ_RESPONSE_LAST",
            O::RdmaReadResponseOnly => "RDMA_READ_RESPONSE_ONLY",
            O::Acknowledge => "ACKNOWLEDGE",
            O::AtomicAcknowledge => "ATOMIC_ACKNOWLEDGE",
            O::CompareSwap => "COMPARE_SWAP",
            O::FetchAdd => "FETCH_ADD",
            O::Resync => "RESYNC",
            O::SendLastWithInvalidate => "SEND_LAST_WITH_INVALIDATE",
            O::SendOnlyWithInvalidate => "SEND_ONLY_WITH_INVALIDATE",
            O::Flush => "FLUSH",
            O::AtomicWrite => "ATOMIC_WRITE",
            O::Cnp => "CNP",
        })
    }

    const fn derive_traits(self) -> Traits {
        use Operation as O;
        let Some(operation) = self.derive_operation() else { return Traits(0) };
        let traits = match operation {
            O::SendFirst => Traits::STARTS,
            O::SendMiddle | O::RdmaWriteMiddle => Traits(0),
            O::SendLast | O::RdmaWriteLast => Traits::ENDS,
            O::SendLastWithImmediate | O::RdmaWriteLastWithImmediate => {
                Traits::ENDS.with(Traits::IMMEDIATE)
            }
            O::SendOnly => Traits::STARTS.with(Traits::ENDS),
            O::SendOnlyWithImmediate => Traits::STARTS.with(Traits::ENDS).with(Traits::IMMEDIATE),
            O::SendLastWithInvalidate => Traits::ENDS.with(Traits::IETH),
            O::SendOnlyWithInvalidate => Traits::STARTS.with(Traits::ENDS).with(Traits::IETH),
            O::RdmaWriteFirst => Traits::STARTS.with(Traits::RETH),
            O::RdmaWriteOnly | O::AtomicWrite => {
                Traits::STARTS.with(Traits::ENDS).with(Traits::RETH)
            }
            O::RdmaWriteOnlyWithImmediate => {
                Traits::STARTS.with(Traits::ENDS).with(Traits::RETH).with(Traits::IMMEDIATE)
            }
            O::RdmaReadRequest => {
                Traits::STARTS.with(Traits::ENDS).with(Traits::RETH).with(Traits::READ)
            }
            O::Flush => Traits::STARTS.with(Traits::ENDS).with(Traits::FETH).with(Traits::RETH),
            O::CompareSwap | O::FetchAdd => {
                Traits::STARTS.with(Traits::ENDS).with(Traits::ATOMIC_ETH)
            }
            O::Resync => Traits::STARTS.with(Traits::ENDS),
            O::RdmaReadResponseFirst => Traits::AETH.with(Traits::STARTS),
            O::RdmaReadResponseMiddle => Traits(0),
            O::RdmaReadResponseLast => Traits::AETH.with(Traits::ENDS),
            O::RdmaReadResponseOnly => Traits::AETH.with(Traits::STARTS).with(Traits::ENDS),
            O::Acknowledge => Traits::AETH,
            O::AtomicAcknowledge => Traits::AETH.with(Traits::ATOMIC_ACK_ETH),
            O::Cnp => return Traits(0),
        };
        let is_response = matches!(
            operation,
            O::RdmaReadResponseFirst
                | O::RdmaReadResponseMiddle
                | O::RdmaReadResponseLast
                | O::RdmaReadResponseOnly
                | O::Acknowledge
                | O::AtomicAcknowledge
        );
        let has_payload = !matches!(
            operation,
            O::RdmaReadRequest
                | O::Acknowledge
                | O::AtomicAcknowledge
                | O::CompareSwap
                | O::FetchAdd
                | O::Resync
                | O::Flush
        );
        let traits = traits.with(if is_response { Traits::RESPONSE } else { Traits::REQUEST });
        let traits = if has_payload { traits.with(Traits::PAYLOAD) } else { traits };
        match self.transport() {
            Transport::Rd if is_response => traits.with(Traits::RDETH),
            Transport::Rd => traits.with(Traits::RDETH).with(Traits::DETH),
            Transport::Ud => traits.with(Traits::DETH),
            Transport::Xrc if !is_response => traits.with(Traits::XRCETH),
            _ => traits,
        }
    }
}

impl fmt::Display for Opcode {
    /// The name, or the byte in hexadecimal where no name is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("{:#04x}", self.0)),
        }
    }
}

impl Transport {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Rd => "RD",
            Self::Ud => "UD",
            Self::Cnp => "CNP",
            Self::Xrc => "XRC",
            Self::Other => "OTHER",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_opcodes_are_kept_without_a_name() {
        for value in [0x1f, 0x35, 0x6a, 0x80, 0xff] {
            assert_eq!(Opcode(value).name(), None);
            assert_eq!(Opcode(value).traits(), Traits(0));
            assert_eq!(Opcode(value).to_string(), format!("{value:#04x}"));
        }
    }

    #[test]
    fn headers_follow_the_opcode() {
        assert!(Opcode(0x0b).traits().has(Traits::RETH.with(Traits::IMMEDIATE)));
        assert!(Opcode(0x64).traits().has(Traits::DETH.with(Traits::REQUEST)));
        assert!(Opcode(0x51).traits().has(Traits::RDETH.with(Traits::AETH)));
        assert!(!Opcode(0x51).traits().has_any(Traits::DETH));
        assert!(Opcode(0xac).traits().has(Traits::XRCETH.with(Traits::RETH)));
        assert!(!Opcode(0xb1).traits().has_any(Traits::XRCETH));
        assert!(!Opcode::CNP.traits().has_any(Traits::REQUEST.with(Traits::RESPONSE)));
    }
}
