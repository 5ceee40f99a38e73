//! Management datagrams: of the connection manager's messages the fields that readers need; all else is zero.

use super::claim::Claims;
use super::pseudonym::Pseudonyms;
use railscope_core::decode::roce::mad::{self, COMMUNICATION_MANAGEMENT};

const REQUEST: u16 = 0x0010;

/// Version of all management datagrams, and of the connection manager's.
const BASE_VERSION: u8 = 1;
const CLASS_VERSION: u8 = 2;

/// A message of the connection manager: attribute, where its fields are (start and length), where a GUID is.
type Message = (u16, &'static [(usize, usize)], Option<usize>);

/// REQ, MRA, REJ, REP, RTU, DREQ, DREP. Of REQ neither LIDs nor flow labels.
const MESSAGES: [Message; 7] = [
    (REQUEST, &[(0, 4), (28, 8), (39, 1), (43, 9), (92, 4)], Some(16)),
    (0x0011, &[(0, 10)], None),
    (0x0012, &[(0, 12)], None),
    (0x0013, &[(0, 15), (20, 3), (24, 4)], Some(28)),
    (0x0014, &[(0, 8)], None),
    (0x0015, &[(0, 11)], None),
    (0x0016, &[(0, 8)], None),
];

/// Writes a datagram anew into `out`, which is zero.
pub(super) fn rewrite(before: &[u8], pseudonyms: &mut Pseudonyms, out: &mut [u8]) {
    let mut claims = Claims::new(before);
    let versions = claims.bytes::<3>(0);
    if versions != Some([BASE_VERSION, COMMUNICATION_MANAGEMENT, CLASS_VERSION]) {
        return;
    }
    let attribute = claims.bytes(16).map_or(0, u16::from_be_bytes);
    let Some((_, fields, guid)) = MESSAGES.iter().find(|(kind, ..)| *kind == attribute) else {
        return;
    };
    // Versions, method and status; the transaction; the message.
    [(0, 6), (8, 8), (16, 2)].into_iter().for_each(|(at, len)| claims.keep(at, len));
    fields.iter().for_each(|(at, len)| claims.keep(mad::LEN + at, *len));
    if let Some(at) = guid.map(|at| mad::LEN + at)
        && let Some(bytes) = claims.bytes(at)
    {
        claims.put(at, pseudonyms.guid(bytes));
    }
    if attribute == REQUEST {
        rewrite_paths(&mut claims, pseudonyms);
    }
    out.copy_from_slice(&claims.out);
}

/// Addresses in a request for a connection.
fn rewrite_paths(claims: &mut Claims<'_>, pseudonyms: &mut Pseudonyms) {
    // Primary and alternate path: two GIDs each, 44 bytes apart, behind the LIDs.
    for at in [56, 72, 100, 116].map(|at| mad::LEN + at) {
        if let Some(gid) = claims.bytes(at) {
            claims.put(at, pseudonyms.gid(gid));
        }
    }
    // Only what rdma_cm wrote is known: version, IP version, port, source, destination; IPv4 is in the last four
    // bytes. Other services have numbers of their own, which may be text.
    let (service, private) = (mad::LEN + 8, mad::LEN + 140);
    if claims.bytes(service) != Some([0, 0, 0, 0, 1]) {
        return;
    }
    claims.keep(service, 8);
    let Some([0, version]) = claims.bytes(private) else { return };
    if !matches!(version, 0x40 | 0x60) {
        return;
    }
    claims.keep(private, 4);
    for at in [private + 4, private + 20] {
        let Some(address) = claims.bytes::<16>(at) else { continue };
        let [.., a, b, c, d] = address;
        if version == 0x40 {
            claims.put(at + 12, pseudonyms.v4([a, b, c, d]));
        } else {
            claims.put(at, pseudonyms.gid(address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;
    use railscope_core::decode::roce::connection_manager::ConnectionMessage;
    use railscope_core::decode::roce::mad::Mad;

    fn rewritten(before: &[u8]) -> Vec<u8> {
        let mut out = vec![0; before.len()];
        rewrite(before, &mut Pseudonyms::new(Key::new([6; 32])), &mut out);
        out
    }

    /// A request, all of whose bytes are letters but those that make it one.
    fn request(service: [u8; 8]) -> Vec<u8> {
        let mut bytes = vec![b'x'; mad::LEN + 232];
        bytes[..4].copy_from_slice(&[1, 7, 2, 3]);
        bytes[16..18].copy_from_slice(&REQUEST.to_be_bytes());
        bytes[mad::LEN + 8..mad::LEN + 16].copy_from_slice(&service);
        bytes
    }

    #[test]
    fn of_a_request_only_its_fields_stay() {
        let after = rewritten(&request(*b"lustre@7"));
        let data = &after[mad::LEN..];
        // Service, LIDs, flow labels, private data.
        for (start, end) in [(4, 16), (24, 28), (36, 39), (40, 43), (52, 56), (88, 92), (132, 232)]
        {
            assert!(data[start..end].iter().all(|byte| *byte == 0), "{start}: {data:02x?}");
        }
        assert_eq!((&after[18..24], &data[32..36]), (&[0; 6][..], &b"xxxx"[..]));
        let service = [0, 0, 0, 0, 1, 6, 0x1c, 6];
        let before = request(service);
        let after = rewritten(&before);
        let read = |bytes: &[u8]| match Mad::decode(bytes).unwrap().connection_message() {
            Some(Ok(ConnectionMessage::Req(req))) => (req.service_id, req.local_qpn, req.path_mtu),
            other => panic!("{other:?}"),
        };
        assert_eq!(read(&after), read(&before));
        assert_eq!(read(&after).0, u64::from_be_bytes(service));
    }

    #[test]
    fn other_management_is_zero() {
        // Subnet administration, and a vendor's own class.
        for class in [0x03, 0x09, 0x30] {
            let mut before = request([0; 8]);
            before[1] = class;
            assert!(rewritten(&before).iter().all(|byte| *byte == 0));
        }
        let mut before = request([0; 8]);
        before[16..18].copy_from_slice(&[0, 0x19]);
        assert!(rewritten(&before).iter().all(|byte| *byte == 0));
    }
}
