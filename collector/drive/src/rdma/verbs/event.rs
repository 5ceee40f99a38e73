//! What an adapter says unasked: asynchronous events, `enum ibv_event_type` (rdma-core,
//! `libibverbs/verbs.h`).

/// An event, as far as the driver cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Nothing works any more.
    Fatal(&'static str),
    /// A queue pair is in error.
    QueuePair {
        /// Its number.
        qpn: u32,
        /// Why.
        what: &'static str,
    },
    /// The link of a port went down.
    PortDown(u8),
    /// And came up.
    PortUp(u8),
    /// Something else.
    Other,
}

/// What an event is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    QueuePair(u32),
    Port(u8),
    Adapter,
}

/// What the number of an event is about, by `enum ibv_event_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    QueuePair,
    Port,
    Other,
}

/// What the event's own union holds.
pub(super) const fn scope(kind: u32) -> Scope {
    match kind {
        1..=7 | 16 => Scope::QueuePair,
        9..=13 | 17 | 18 => Scope::Port,
        _ => Scope::Other,
    }
}

impl Event {
    /// From the number and what the union holds.
    pub(super) const fn new(kind: u32, subject: Subject) -> Self {
        match (kind, subject) {
            (0, _) => Self::Fatal("its completion queue overran"),
            (8, _) => Self::Fatal("the device failed"),
            (1, Subject::QueuePair(qpn)) => Self::QueuePair { qpn, what: "fatal error" },
            (2, Subject::QueuePair(qpn)) => {
                Self::QueuePair { qpn, what: "invalid request of the peer" }
            }
            (3, Subject::QueuePair(qpn)) => {
                Self::QueuePair { qpn, what: "access violation of the peer" }
            }
            (9, Subject::Port(port)) => Self::PortUp(port),
            (10, Subject::Port(port)) => Self::PortDown(port),
            _ => Self::Other,
        }
    }
}
