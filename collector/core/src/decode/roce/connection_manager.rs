//! The connection manager's messages on QP1: who connects which queue pairs, with which starting
//! PSNs (IBTA volume 1, section 12.6; IP private data: annex A11).
//!
//! ```text
//! active side  REQ ->               RTU ->  ...  DREQ ->             (either side disconnects)
//! passive side       <- REP, or REJ         ...          <- DREP
//! either side        MRA: more time is needed for an answer
//! ```
//!
//! Offsets are those of the specification's tables, from the first byte after the MAD's common
//! header. "Local" is always the side that sends the message.

use super::connection_request::Req;
use super::fields::{Fields, split};
use super::reject::RejectReason;
use crate::decode::cursor::Cursor;
use crate::decode::error::DecodeError;
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;

/// A message of the connection manager.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionMessage<'a> {
    /// Request for communication (attribute 0x0010).
    Req(Req<'a>),
    /// Message receipt acknowledgement (0x0011).
    Mra(Mra<'a>),
    /// Reject (0x0012).
    Rej(Rej<'a>),
    /// Reply to a request (0x0013).
    Rep(Rep<'a>),
    /// Ready to use (0x0014).
    Rtu(Rtu<'a>),
    /// Disconnection request (0x0015).
    Dreq(Dreq<'a>),
    /// Disconnection reply (0x0016).
    Drep(Drep<'a>),
    /// Another attribute: service ID resolution, alternate paths.
    Other(u16),
}

/// The two ids of a pending connection, one chosen by each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommunicationIds {
    /// The sender's.
    pub local: u32,
    /// The receiver's.
    pub remote: u32,
}

/// Reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rep<'a> {
    /// Identify the exchange at both ends.
    #[doc(alias = "infiniband.cm.rep.remotecommid")]
    pub ids: CommunicationIds,
    /// `Q_Key` of datagram services.
    #[doc(alias = "infiniband.cm.rep.localqkey")]
    pub local_queue_key: u32,
    /// The sender's queue pair.
    #[doc(alias = "infiniband.cm.rep.localqpn")]
    pub local_qpn: Qpn,
    /// The PSN that the sender's requests will start with.
    #[doc(alias = "infiniband.cm.rep.startpsn")]
    pub starting_psn: Psn,
    /// READs and atomics that the sender can respond to at a time.
    #[doc(alias = "infiniband.cm.rep.respres")]
    pub responder_resources: u8,
    /// READs and atomics that the sender will have outstanding at a time.
    #[doc(alias = "infiniband.cm.rep.initdepth")]
    pub initiator_depth: u8,
    /// How long the sender may take to send an ACK; [`timeout_ns`].
    #[doc(alias = "infiniband.cm.rep.tgtackdelay")]
    pub target_ack_delay: u8,
    /// The sender's queue pair uses end-to-end credits.
    #[doc(alias = "infiniband.cm.rep.e2eflowctrl")]
    pub end_to_end_flow_control: bool,
    /// Retries after an RNR NAK, 0 to 6; 7 means unlimited.
    #[doc(alias = "infiniband.cm.rep.rnrretrcount")]
    pub rnr_retry_count: u8,
    /// The sender's queue pair has a shared receive queue.
    #[doc(alias = "infiniband.cm.rep.srq")]
    pub shared_receive_queue: bool,
    /// GUID of the sender's channel adapter.
    #[doc(alias = "infiniband.cm.rep.localcaguid")]
    pub local_ca_guid: u64,
    /// The consumer's bytes that were kept, of 196.
    #[doc(alias = "infiniband.cm.rep.private")]
    pub private_data: &'a [u8],
}

/// Ready to use: the reply arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtu<'a> {
    /// Identify the exchange at both ends.
    #[doc(alias = "infiniband.cm.rtu.localcommid")]
    pub ids: CommunicationIds,
    /// The consumer's bytes that were kept, of 224.
    #[doc(alias = "infiniband.cm.rtu.private")]
    pub private_data: &'a [u8],
}

/// Reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rej<'a> {
    /// Communication IDs; an unknown one is 0.
    #[doc(alias = "infiniband.cm.rej.localcommid")]
    pub ids: CommunicationIds,
    /// The message that is rejected: 0 REQ, 1 REP, 2 none, 3 another.
    #[doc(alias = "infiniband.cm.rej.msgrej")]
    pub message: u8,
    /// Why the request was rejected.
    #[doc(alias = "infiniband.cm.rej.reason")]
    pub reason: RejectReason,
    /// Additional information, whose meaning depends on the reason.
    #[doc(alias = "infiniband.cm.rej.ari")]
    pub additional: &'a [u8],
    /// The consumer's bytes that were kept, of 148.
    #[doc(alias = "infiniband.cm.rej.private")]
    pub private_data: &'a [u8],
}

/// Message receipt acknowledgement: an answer will come, but late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mra<'a> {
    /// Identify the exchange at both ends.
    pub ids: CommunicationIds,
    /// The message that arrived: 0 REQ, 1 REP, 2 LAP.
    pub message: u8,
    /// How long the sender needs to answer it; [`timeout_ns`].
    pub service_timeout: u8,
    /// The consumer's bytes that were kept, of 222.
    pub private_data: &'a [u8],
}

/// Disconnection request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dreq<'a> {
    /// Identify the exchange at both ends.
    #[doc(alias = "infiniband.cm.dreq.localcommid")]
    pub ids: CommunicationIds,
    /// The receiver's queue pair.
    #[doc(alias = "infiniband.cm.req.remoteqpneecn")]
    pub remote_qpn: Qpn,
    /// The consumer's bytes that were kept, of 220.
    #[doc(alias = "infiniband.cm.dreq.private")]
    pub private_data: &'a [u8],
}

/// Disconnection reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drep<'a> {
    /// Identify the exchange at both ends.
    #[doc(alias = "infiniband.cm.drsp.localcommid")]
    pub ids: CommunicationIds,
    /// The consumer's bytes that were kept, of 224.
    #[doc(alias = "infiniband.cm.drsp.private")]
    pub private_data: &'a [u8],
}

/// A time that a message gives as an exponent: 4.096 us times two to the power of its low five
/// bits.
#[must_use]
pub const fn timeout_ns(exponent: u8) -> u64 {
    4096 << (exponent & 0x1f)
}

/// Reads the message that an attribute ID stands for.
pub(super) fn decode(
    attribute_id: u16,
    cursor: Cursor<'_>,
) -> Result<ConnectionMessage<'_>, DecodeError> {
    Ok(match attribute_id {
        0x0010 => ConnectionMessage::Req(Req::read(cursor)?),
        0x0011 => ConnectionMessage::Mra(mra(cursor)?),
        0x0012 => ConnectionMessage::Rej(rej(cursor)?),
        0x0013 => ConnectionMessage::Rep(rep(cursor)?),
        0x0014 => {
            let (fields, private_data) = split::<8>(cursor)?;
            ConnectionMessage::Rtu(Rtu { ids: ids(fields), private_data })
        }
        0x0015 => {
            let (fields, private_data) = split::<12>(cursor)?;
            let remote_qpn = fields.qpn::<8>();
            ConnectionMessage::Dreq(Dreq { ids: ids(fields), remote_qpn, private_data })
        }
        0x0016 => {
            let (fields, private_data) = split::<8>(cursor)?;
            ConnectionMessage::Drep(Drep { ids: ids(fields), private_data })
        }
        other => ConnectionMessage::Other(other),
    })
}

/// The IDs that all messages but REQ start with.
fn ids<const LEN: usize>(fields: Fields<'_, LEN>) -> CommunicationIds {
    CommunicationIds { local: fields.u32::<0>(), remote: fields.u32::<4>() }
}

fn rep(cursor: Cursor<'_>) -> Result<Rep<'_>, DecodeError> {
    let (fields, private_data) = split::<36>(cursor)?;
    Ok(Rep {
        ids: ids(fields),
        local_queue_key: fields.u32::<8>(),
        local_qpn: fields.qpn::<12>(),
        starting_psn: fields.psn::<20>(),
        responder_resources: fields.u8::<24>(),
        initiator_depth: fields.u8::<25>(),
        target_ack_delay: fields.u8::<26>() >> 3,
        end_to_end_flow_control: fields.u8::<26>() & 0x01 != 0,
        rnr_retry_count: fields.u8::<27>() >> 5,
        shared_receive_queue: fields.u8::<27>() & 0x10 != 0,
        local_ca_guid: fields.u64::<28>(),
        private_data,
    })
}

fn rej(cursor: Cursor<'_>) -> Result<Rej<'_>, DecodeError> {
    let (fields, private_data) = split::<84>(cursor)?;
    let additional = fields.0.get(12..).unwrap_or_default();
    let len = usize::from(fields.u8::<9>() >> 1);
    Ok(Rej {
        ids: ids(fields),
        message: fields.u8::<8>() >> 6,
        reason: RejectReason(fields.u16::<10>()),
        additional: additional.get(..len).unwrap_or(additional),
        private_data,
    })
}

fn mra(cursor: Cursor<'_>) -> Result<Mra<'_>, DecodeError> {
    let (fields, private_data) = split::<10>(cursor)?;
    Ok(Mra {
        ids: ids(fields),
        message: fields.u8::<8>() >> 6,
        service_timeout: fields.u8::<9>() >> 3,
        private_data,
    })
}
