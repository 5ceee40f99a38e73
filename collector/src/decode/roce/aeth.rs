//! The ACK extended transport header: 4 bytes (IBTA volume 1, sections 9.3.5 and 9.7.5).

/// Bytes of the header.
pub const LEN: usize = 4;

/// An ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// What the responder says.
    pub syndrome: Syndrome,
    /// Message sequence number: messages completed by the responder, 24 bits.
    pub msn: u32,
}

/// The syndrome byte, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Acknowledged.
    Ack {
        /// Encoded end-to-end credit count, 0 ..= 30; 31 means that credits are not used.
        credits: u8,
    },
    /// Receiver not ready: no receive buffer was posted.
    RnrNak {
        /// Encoded wait, 0 ..= 31; [`rnr_timer_ns`] has nanoseconds.
        timer: u8,
    },
    /// Negative acknowledgement.
    Nak(NakCode),
    /// A syndrome that is reserved.
    Reserved(u8),
}

/// Why a request was refused (IBTA volume 1, table 46).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NakCode {
    /// PSN sequence error: a packet is missing; the sender goes back to the AETH's PSN.
    PsnSequenceError,
    /// Invalid request.
    InvalidRequest,
    /// Remote access error: bad R_Key, address or permission.
    RemoteAccessError,
    /// Remote operational error.
    RemoteOperationalError,
    /// Invalid RD request.
    InvalidRdRequest,
    /// A code that is reserved.
    Reserved(u8),
}
