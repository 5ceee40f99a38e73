//! What a responder sends without being asked by its host: ACKs, NAKs and CNPs.

/// What a responder sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// ACK or NAK, decided when it is sent.
    Acknowledge,
    /// A congestion notification.
    Cnp,
}
