//! What the kernel programs could not do, counted for each CPU.

/// What was lost, and the index of its counter.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A packet that was to be handed out found no room in the ring.
    Event = 0,
    /// A flow found no room in the table: its packets are handed out one by one.
    Flow = 1,
    /// A segment's payload was too long for the pieces that one packet may have.
    Payload = 2,
    /// Headers that could not be read although the packet has them.
    Header = 3,
    /// A call found no room in the ring.
    Call = 4,
    /// A TCP connection's change of state found no room in the ring.
    Connection = 5,
    /// The beginning of a call could not be kept until it returns: its return is not told.
    Return = 6,
    /// Memory of a caller could not be read: it was not in place.
    Memory = 7,
    /// A packet of a TCP connection whose direction found no room in the table: its payload is not
    /// handed out.
    Stream = 8,
}

impl Loss {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 9] = [
        Self::Event,
        Self::Flow,
        Self::Payload,
        Self::Header,
        Self::Call,
        Self::Connection,
        Self::Return,
        Self::Memory,
        Self::Stream,
    ];
}
