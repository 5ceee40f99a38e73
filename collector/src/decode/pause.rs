//! MAC control frames that stop a sender: PFC (IEEE 802.1Qbb) and 802.3x pause.

/// A pause frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Priority flow control (EtherType 0x8808, opcode 0x0101).
    Pfc {
        /// Bit p set: `quanta[p]` is valid.
        enabled: u8,
        /// Time to stay silent per priority, in units of 512 bit times; 0 resumes.
        quanta: [u16; 8],
    },
    /// 802.3x pause (opcode 0x0001) of the whole link.
    Link {
        /// Time to stay silent, in units of 512 bit times; 0 resumes.
        quanta: u16,
    },
}
