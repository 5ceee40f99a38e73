//! Management datagrams: the 24-byte common header (IBTA volume 1, section 13.4.2).
//!
//! ```text
//! byte 0             1                 2              3         4..5    6..7
//!      base version  management class  class version  R|method  status  class specific
//!      8..15           16..17        18..19    20..23              24..
//!      transaction ID  attribute ID  reserved  attribute modifier  data
//! ```

use super::connection_manager::{self, ConnectionMessage};
use super::fields::Fields;
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};

/// Bytes of the common header.
pub const LEN: usize = 24;

/// The management class of communication management.
pub const COMMUNICATION_MANAGEMENT: u8 = 0x07;

/// A management datagram.
#[doc(alias = "infiniband.mad")]
#[derive(Clone, Copy, Debug)]
pub struct Mad<'a> {
    /// Version of the common header, 1.
    #[doc(alias = "infiniband.mad.baseversion")]
    pub base_version: u8,
    /// Which protocol it belongs to; 0x07 is the connection manager.
    #[doc(alias = "infiniband.mad.mgmtclass")]
    pub management_class: u8,
    /// Version of the class, 2 for communication management.
    #[doc(alias = "infiniband.mad.classversion")]
    pub class_version: u8,
    /// Method, with the response bit on top; 3 is Send.
    #[doc(alias = "infiniband.mad.method")]
    pub method: u8,
    /// 0 unless the receiver reports an error.
    #[doc(alias = "infiniband.mad.status")]
    pub status: u16,
    /// Transaction, alike in a request and what answers it.
    #[doc(alias = "infiniband.mad.transactionid")]
    pub transaction_id: u64,
    /// What the data are; in communication management, the message.
    #[doc(alias = "infiniband.mad.attributeid")]
    pub attribute_id: u16,
    /// What the attribute applies to.
    #[doc(alias = "infiniband.mad.attributemodifier")]
    pub attribute_modifier: u32,
    data: Cursor<'a>,
}

impl<'a> Mad<'a> {
    /// Reads a completely captured management datagram.
    ///
    /// # Errors
    ///
    /// When it is shorter than its header.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(Cursor::of_payload(bytes, bytes.len(), 0))
    }

    pub(super) fn read(mut data: Cursor<'a>) -> Result<Self, DecodeError> {
        let header = Fields(data.take::<LEN>(Layer::Mad)?);
        Ok(Self {
            base_version: header.u8::<0>(),
            management_class: header.u8::<1>(),
            class_version: header.u8::<2>(),
            method: header.u8::<3>(),
            status: header.u16::<4>(),
            transaction_id: header.u64::<8>(),
            attribute_id: header.u16::<16>(),
            attribute_modifier: header.u32::<20>(),
            data,
        })
    }

    /// The bytes behind the common header that were kept.
    #[doc(alias = "infiniband.mad.data")]
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.data.bytes()
    }

    /// The connection manager's message, if this is one.
    #[must_use]
    pub fn connection_message(&self) -> Option<Result<ConnectionMessage<'a>, DecodeError>> {
        let is_one = self.management_class == COMMUNICATION_MANAGEMENT;
        is_one.then(|| connection_manager::decode(self.attribute_id, self.data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::error::Limit;
    use crate::decode::roce::connection_manager::timeout_ns;
    use crate::decode::roce::reject::RejectReason;
    use crate::model::opcode::Transport;

    /// The REQ of `rping` over soft-RoCE, up to the end of the IP private data; the expected values
    /// are what Wireshark shows of it.
    const REQ: &str = "0107020300000000 00000002 92d74072 0010 0000 00000000 7240d792 00000000\
        0000000001061c06 000000fffe000001 00000000 00000000 00001c01 00000001 000000a0 7b9ce9a7\
        ffff37f0 ffffffff 00000000000000000000ffff0a000001 00000000000000000000ffff0a000002\
        5b432000 00400088 00000000 00000000000000000000000000000000\
        00000000000000000000000000000000 00000000 00000000 0040b254\
        0000000000000000000000000a000001 0000000000000000000000000a000002";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits.chunks(2).map(|pair| str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    fn message(bytes: &[u8]) -> ConnectionMessage<'_> {
        Mad::decode(bytes).unwrap().connection_message().unwrap().unwrap()
    }

    #[test]
    fn a_real_request() {
        let bytes = bytes(REQ);
        assert_eq!(Mad::decode(&bytes).unwrap().transaction_id, 0x0000_0002_92d7_4072);
        let ConnectionMessage::Req(req) = message(&bytes) else { panic!("not a REQ") };
        assert_eq!(req.local_communication_id, 0x7240_d792);
        assert_eq!((req.local_qpn.value(), req.starting_psn.value()), (0x1c, 0x7b_9ce9));
        assert_eq!((req.transport, req.path_mtu), (Transport::Rc, Some(1024)));
        assert_eq!((req.retry_count, req.rnr_retry_count, req.max_cm_retries), (7, 7, 15));
        assert_eq!((req.partition_key, req.local_ca_guid), (0xffff, 0xff_fe00_0001));
        assert_eq!(req.primary_local_gid.to_canonical().to_string(), "10.0.0.1");
        assert_eq!(req.primary_remote_gid.to_canonical().to_string(), "10.0.0.2");
        assert_eq!(req.primary_hop_limit, 64);
        assert_eq!(timeout_ns(req.primary_local_ack_timeout), 536_870_912);
        assert_eq!((req.local_cm_response_timeout, req.remote_cm_response_timeout), (20, 20));
        let ip = req.ip_service().unwrap();
        assert_eq!((ip.protocol, ip.source_port, ip.destination_port), (6, 0xb254, 7174));
        assert_eq!(ip.source.to_string(), "10.0.0.1");
        assert_eq!(ip.destination.to_string(), "10.0.0.2");
    }

    #[test]
    fn a_request_cut_anywhere_is_an_error_until_its_private_data() {
        let bytes = bytes(REQ);
        for len in 0..bytes.len() {
            let mad = Mad::decode(&bytes[..len]);
            assert_eq!(mad.is_ok(), len >= 24);
            let Ok(mad) = mad else { continue };
            match mad.connection_message().unwrap() {
                Ok(ConnectionMessage::Req(req)) => {
                    assert!(len >= 164);
                    assert_eq!(req.ip_service(), None);
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    assert_eq!((error.offset, error.need, error.have), (24, 140, len as u32 - 24));
                    assert_eq!(error.limit, Limit::UdpLength);
                }
            }
        }
    }

    #[test]
    fn answers() {
        let mad = |attribute: &str, data: &str| {
            bytes(&format!("01070203 00000000 0000000000000001 {attribute} 0000 00000000 {data}"))
        };
        let rej = mad("0012", &format!("00000001 00000002 40 04 001c abcd {}", "00".repeat(100)));
        let ConnectionMessage::Rej(rej) = message(&rej) else { panic!("not a REJ") };
        assert_eq!((rej.ids.local, rej.ids.remote, rej.message), (1, 2, 1));
        assert_eq!((rej.reason, rej.additional), (RejectReason(28), &[0xab, 0xcd][..]));
        assert_eq!(rej.private_data.len(), 30);

        let mra = mad("0011", "00000001 00000002 40 a0 ff");
        let ConnectionMessage::Mra(mra) = message(&mra) else { panic!("not an MRA") };
        assert_eq!((mra.message, mra.service_timeout, mra.private_data), (1, 20, &[0xff][..]));

        let rep = mad(
            "0013",
            "7140d792 7240d792 00000000 00001c00 00000000 ce412a00 01 02 78 e0 000000fffe000002",
        );
        let ConnectionMessage::Rep(rep) = message(&rep) else { panic!("not a REP") };
        assert_eq!((rep.ids.local, rep.ids.remote), (0x7140_d792, 0x7240_d792));
        assert_eq!((rep.local_qpn.value(), rep.starting_psn.value()), (0x1c, 0xce_412a));
        assert_eq!((rep.responder_resources, rep.initiator_depth), (1, 2));
        assert_eq!((rep.target_ack_delay, rep.rnr_retry_count), (15, 7));

        let dreq = mad("0015", "7240d792 7140d792 00001c00");
        let ConnectionMessage::Dreq(dreq) = message(&dreq) else { panic!("not a DREQ") };
        assert_eq!(dreq.remote_qpn.value(), 0x1c);
    }
}
