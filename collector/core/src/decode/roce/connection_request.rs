//! The connection manager's request: the message that says the most of a connection (IBTA volume
//! 1, section 12.6.5). "Local" is the side that sends it. Time-outs are exponents, for
//! [`timeout_ns`](super::connection_manager::timeout_ns).

use std::net::Ipv6Addr;

use super::fields::split;
use super::ip_service::IpService;
use crate::decode::cursor::Cursor;
use crate::decode::error::DecodeError;
use crate::model::opcode::Transport;
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;

/// Request for communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Req<'a> {
    /// The sender's communication ID.
    #[doc(alias = "infiniband.cm.req")]
    pub local_communication_id: u32,
    /// The service that is asked for.
    #[doc(alias = "infiniband.cm.req.serviceid")]
    pub service_id: u64,
    /// GUID of the sender's channel adapter.
    #[doc(alias = "infiniband.cm.req.localcaguid")]
    pub local_ca_guid: u64,
    /// `Q_Key` of datagram services.
    #[doc(alias = "infiniband.cm.req.localqkey")]
    pub local_queue_key: u32,
    /// The sender's queue pair.
    #[doc(alias = "infiniband.cm.req.localqpn")]
    pub local_qpn: Qpn,
    /// READs and atomics that the sender can respond to at a time.
    #[doc(alias = "infiniband.cm.req.responderres")]
    pub responder_resources: u8,
    /// READs and atomics that the sender will have outstanding at a time.
    #[doc(alias = "infiniband.cm.req.initdepth")]
    pub initiator_depth: u8,
    /// How long the receiver may take to answer, as an exponent.
    #[doc(alias = "infiniband.cm.req.remoteresptout")]
    pub remote_cm_response_timeout: u8,
    /// Transport service of the queue pair.
    #[doc(alias = "infiniband.cm.req.transpsvctype")]
    pub transport: Transport,
    /// The sender's queue pair uses end-to-end credits.
    #[doc(alias = "infiniband.cm.req.e2eflowctrl")]
    pub end_to_end_flow_control: bool,
    /// The PSN that the sender's requests will start with.
    #[doc(alias = "infiniband.cm.req.startpsn")]
    pub starting_psn: Psn,
    /// How long the sender may take to answer, as an exponent.
    #[doc(alias = "infiniband.cm.req.localresptout")]
    pub local_cm_response_timeout: u8,
    /// Retries after a time-out or sequence error, 0 ..= 7.
    #[doc(alias = "infiniband.cm.req.retrcount")]
    pub retry_count: u8,
    /// P_Key of the connection.
    #[doc(alias = "infiniband.cm.req.pkey")]
    pub partition_key: u16,
    /// Payload bytes of a full packet; `None` when the code is reserved.
    #[doc(alias = "infiniband.cm.req.pppmtu")]
    pub path_mtu: Option<u16>,
    /// Retries after an RNR NAK, 0 to 6; 7 means unlimited.
    #[doc(alias = "infiniband.cm.req.rnrretrcount")]
    pub rnr_retry_count: u8,
    /// Most retransmissions of a connection manager message.
    #[doc(alias = "infiniband.cm.req.maxcmretr")]
    pub max_cm_retries: u8,
    /// The sender's queue pair has a shared receive queue.
    #[doc(alias = "infiniband.cm.req.srq")]
    pub shared_receive_queue: bool,
    /// The sender's port on the primary path.
    #[doc(alias = "infiniband.cm.req.prim_localgid")]
    pub primary_local_gid: Ipv6Addr,
    /// The receiver's port on the primary path.
    #[doc(alias = "infiniband.cm.req.prim_remotegid")]
    pub primary_remote_gid: Ipv6Addr,
    /// Traffic class of the primary path: DSCP and ECN of the IP header.
    #[doc(alias = "infiniband.cm.req.prim_tfcclass")]
    pub primary_traffic_class: u8,
    /// Hop limit of the primary path.
    #[doc(alias = "infiniband.cm.req.prim_hoplim")]
    pub primary_hop_limit: u8,
    /// Service level of the primary path.
    #[doc(alias = "infiniband.cm.req.prim_sl")]
    pub primary_service_level: u8,
    /// How long a requester waits for an ACK, as an exponent; 0 means forever.
    #[doc(alias = "infiniband.cm.req.prim_localacktout")]
    pub primary_local_ack_timeout: u8,
    /// The sender's port on the alternate path; unspecified when there is none.
    #[doc(alias = "infiniband.cm.req.alt_localgid")]
    pub alternate_local_gid: Ipv6Addr,
    /// The receiver's port on the alternate path; unspecified when there is none.
    #[doc(alias = "infiniband.cm.req.alt_remotegid")]
    pub alternate_remote_gid: Ipv6Addr,
    /// The consumer's bytes that were kept, of 92, with the header of [`Req::ip_service`].
    #[doc(alias = "infiniband.cm.req.private")]
    pub private_data: &'a [u8],
}

impl<'a> Req<'a> {
    pub(super) fn read(cursor: Cursor<'a>) -> Result<Self, DecodeError> {
        let (fields, private_data) = split::<140>(cursor)?;
        let services = fields.u8::<43>();
        let mtu_and_rnr = fields.u8::<50>();
        let retries_and_type = fields.u8::<51>();
        Ok(Self {
            local_communication_id: fields.u32::<0>(),
            service_id: fields.u64::<8>(),
            local_ca_guid: fields.u64::<16>(),
            local_queue_key: fields.u32::<28>(),
            local_qpn: fields.qpn::<32>(),
            responder_resources: fields.u8::<35>(),
            initiator_depth: fields.u8::<39>(),
            remote_cm_response_timeout: services >> 3,
            transport: match ((services >> 1) & 0x03, retries_and_type & 0x07) {
                (0, _) => Transport::Rc,
                (1, _) => Transport::Uc,
                (2, _) => Transport::Rd,
                (3, 1) => Transport::Xrc,
                _ => Transport::Other,
            },
            end_to_end_flow_control: services & 0x01 != 0,
            starting_psn: fields.psn::<44>(),
            local_cm_response_timeout: fields.u8::<47>() >> 3,
            retry_count: fields.u8::<47>() & 0x07,
            partition_key: fields.u16::<48>(),
            path_mtu: match mtu_and_rnr >> 4 {
                code @ 1..=5 => Some(128 << code),
                _ => None,
            },
            rnr_retry_count: mtu_and_rnr & 0x07,
            max_cm_retries: retries_and_type >> 4,
            shared_receive_queue: retries_and_type & 0x08 != 0,
            primary_local_gid: fields.gid::<56>(),
            primary_remote_gid: fields.gid::<72>(),
            primary_traffic_class: fields.u8::<92>(),
            primary_hop_limit: fields.u8::<93>(),
            primary_service_level: fields.u8::<94>() >> 4,
            primary_local_ack_timeout: fields.u8::<95>() >> 3,
            alternate_local_gid: fields.gid::<100>(),
            alternate_remote_gid: fields.gid::<116>(),
            private_data,
        })
    }

    /// The IP addresses and ports that are connected, when the service is an IP port.
    #[must_use]
    pub fn ip_service(&self) -> Option<IpService> {
        IpService::decode(self.service_id, self.private_data)
    }
}
