//! Asynchronous events of an adapter: `enum ibv_event_type` (rdma-core, `libibverbs/verbs.h`).

/// An event that matters to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The adapter failed.
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
    /// The link of a port came up.
    PortUp(u8),
    /// Any other event.
    Other,
}

/// The object of an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    QueuePair(u32),
    Port(u8),
    Adapter,
}

/// The kind of object, by `enum ibv_event_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    QueuePair,
    Port,
    Other,
}

/// What the event's union holds.
pub(super) const fn scope(kind: u32) -> Scope {
    match kind {
        1..=7 | 16 => Scope::QueuePair,
        9..=13 | 17 | 18 => Scope::Port,
        _ => Scope::Other,
    }
}

impl Event {
    /// An event from its number and its union.
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
