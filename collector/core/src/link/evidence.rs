//! Evidence for links.

use crate::model::grade::Grade;
use crate::model::witness::Witness;

/// The kind of observation that a link rests on, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvidenceKind {
    /// The queue pairs between hosts form a ring.
    RingShape,
    /// Hosts forward what they received, or change it, as a collective of this kind does.
    Payload,
    /// The same UDP source port both ways, unique between the two hosts.
    UdpPort,
    /// ACKs carry PSNs for which the other direction requested an ACK.
    PsnAck,
    /// The rank in the CTS messages that request the data.
    CtsTag,
    /// Data goes to the address and R_Key that a CTS offered.
    CtsMatch,
    /// The connection manager's REQ and REP.
    ConnectionManager,
    /// A line of a NCCL log.
    Log,
    /// What the rank's process did itself: the call that created the communicator, or its
    /// connection.
    Process,
    /// A unique id in a TCPStore.
    UniqueId,
    /// A rank's check-in at the root, or the root's reply.
    CheckIn,
    /// The bootstrap ring's AllGathers.
    RingGather,
    /// A transport set-up message between two ranks.
    TransportSetup,
    /// NET/IB's out-of-band exchange of queue pairs.
    OobExchange,
}

/// One piece of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    /// What kind of fact it is; later kinds are stronger.
    pub kind: EvidenceKind,
    /// The frame or line that shows it best; `None` if it rests on many.
    pub witness: Option<Witness>,
    /// Number of consistent observations.
    pub count: u64,
}

impl EvidenceKind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RingShape => "ring_shape",
            Self::Payload => "payload",
            Self::UdpPort => "udp_port",
            Self::PsnAck => "psn_ack",
            Self::CtsTag => "cts_tag",
            Self::CtsMatch => "cts_match",
            Self::ConnectionManager => "connection_manager",
            Self::Log => "log",
            Self::Process => "process",
            Self::UniqueId => "unique_id",
            Self::CheckIn => "check_in",
            Self::RingGather => "ring_gather",
            Self::TransportSetup => "transport_setup",
            Self::OobExchange => "oob_exchange",
        }
    }

    /// How certain a link is that rests on this alone.
    #[must_use]
    pub const fn grade(self) -> Grade {
        match self {
            Self::RingShape | Self::Payload | Self::UdpPort | Self::PsnAck => Grade::Inferred,
            _ => Grade::Proven,
        }
    }
}

/// Adds a piece of evidence; the first observation of each kind is the one shown.
pub(super) fn add_evidence(evidence: &mut Vec<Evidence>, reason: Evidence) {
    match evidence.iter_mut().find(|known| known.kind == reason.kind) {
        Some(known) => {
            known.count += reason.count;
            known.witness = match (known.witness, reason.witness) {
                (Some(known), Some(new)) => Some(known.min(new)),
                (known, new) => known.or(new),
            };
        }
        None => evidence.push(reason),
    }
}
