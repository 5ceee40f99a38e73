//! Losses of the kernel programs, counted per CPU.

/// A kind of loss, and the index of its counter.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A packet could not be delivered: the ring was full.
    Event = 0,
    /// A flow found no slot in the table: its packets are delivered one by one.
    Flow = 1,
    /// A segment's payload needed more pieces than one packet may have.
    Payload = 2,
    /// The packet has headers that could not be read.
    Header = 3,
    /// A call could not be delivered: the ring was full.
    Call = 4,
    /// A TCP state change could not be delivered: the ring was full.
    Connection = 5,
    /// The start of a call could not be kept until it returns: its return is not reported.
    Return = 6,
    /// Memory of a caller could not be read: it was not resident.
    Memory = 7,
    /// A packet of a TCP connection whose direction found no slot in the table: its payload is not
    /// delivered.
    Stream = 8,
    /// The packet is neither RoCE nor TCP, nor has it either inside. No loss, but the answer to a tap
    /// that seems to see nothing.
    Unused = 9,
    /// A call of a user who makes more than its share.
    Share = 10,
}

impl Loss {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 11] = [
        Self::Event,
        Self::Flow,
        Self::Payload,
        Self::Header,
        Self::Call,
        Self::Connection,
        Self::Return,
        Self::Memory,
        Self::Stream,
        Self::Unused,
        Self::Share,
    ];
}
