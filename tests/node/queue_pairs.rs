//! Answers of the kernel's RDMA subsystem, built by Linux' `rdma/rdma_netlink.h`, and this
//! machine's kernel.

use proptest::prelude::*;
use railscope::ingest::rdma_netlink::answer::{Device, device, queue_pairs, statistics};
use railscope::ingest::rdma_netlink::message::{Command, Message, messages, request};
use railscope::ingest::rdma_netlink::{NetlinkError, RdmaNetlink};
use railscope_core::model::qpn::Qpn;
use railscope_core::model::queue_pair::{
    HostQueuePair, QueuePairKind, QueuePairOwner, QueuePairState,
};

/// An attribute: length, kind, value, padded with zeros to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = u16::try_from(length).unwrap().to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// Nested attributes; the kernel sets a flag in their kind.
fn nested(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | 0x8000, &attributes.concat())
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_ne_bytes())
}

/// A message: length, type, flags, sequence number, port.
fn message(kind: u16, flags: u16, request: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(request.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

/// The messages of `rdma resource show qp` on a node with one training process.
fn listed() -> Vec<u8> {
    let of_kernel = [
        number(3, 1),
        number(21, 1),
        number(24, 0),
        attribute(26, &[1]),
        attribute(27, &[3]),
        attribute(29, b"ib_core\0"),
    ];
    let of_process = [
        number(3, 1),
        number(21, 0x1234),
        number(22, 0xabcdef),
        number(23, 7),
        number(24, 8),
        attribute(25, &[0]),
        attribute(26, &[2]),
        attribute(27, &[3]),
        number(28, 31_337),
        number(60, 5),
    ];
    let fresh = [number(21, 0x1235), number(22, 0), attribute(26, &[2]), attribute(27, &[0])];
    // Without a number it cannot be identified.
    let senseless = [attribute(26, &[2]), attribute(27, &[3])];
    let entries = [
        nested(20, &of_kernel),
        nested(20, &of_process),
        nested(20, &fresh),
        nested(20, &senseless),
    ];
    [number(1, 0), attribute(2, b"mlx5_0\0"), nested(19, &entries)].concat()
}

#[test]
fn queue_pairs_with_their_owners() {
    let (pairs, unread) = queue_pairs(&listed());
    let pair = |local: u32, state, owner| HostQueuePair {
        device: "mlx5_0".to_owned(),
        port: Some(1),
        local: Qpn::new(local),
        remote: None,
        kind: QueuePairKind::ReliableConnection,
        state,
        owner,
    };
    let expected = [
        HostQueuePair {
            kind: QueuePairKind::GeneralManagement,
            ..pair(1, QueuePairState::ReadyToSend, QueuePairOwner::Kernel("ib_core".to_owned()))
        },
        HostQueuePair {
            remote: Some(Qpn::new(0xab_cdef)),
            ..pair(0x1234, QueuePairState::ReadyToSend, QueuePairOwner::Process(31_337))
        },
        HostQueuePair {
            port: None,
            ..pair(0x1235, QueuePairState::Reset, QueuePairOwner::Unknown)
        },
    ];
    assert_eq!(pairs, expected);
    assert_eq!(unread, 1);
}

#[test]
fn devices_and_counters() {
    let answer =
        [number(1, 3), attribute(2, b"rxe0\0"), number(3, 1), attribute(5, b"1.0\0")].concat();
    let expected = Device { index: 3, name: "rxe0".to_owned(), ports: 1 };
    assert_eq!(device(&answer), Some(expected));
    assert_eq!(device(&number(1, 3)), None);
    let counter = |name: &[u8], value: u64| {
        nested(81, &[attribute(82, name), attribute(83, &value.to_ne_bytes())])
    };
    let counters = [counter(b"np_cnp_sent\0", 12), counter(b"cc_rx_ce_pkts\0", u64::MAX - 1)];
    let answer = [number(1, 0), number(3, 1), nested(80, &counters)].concat();
    let expected = [("np_cnp_sent".to_owned(), 12), ("cc_rx_ce_pkts".to_owned(), u64::MAX - 1)];
    assert_eq!(statistics(&answer), expected);
}

#[test]
fn a_datagram_holds_several_messages() {
    let type_of = 5 << 10 | 10;
    let other = message(type_of, 2, 41, b"of an earlier request...");
    let first = message(type_of, 2, 42, &listed());
    let second = message(type_of, 2 | 16, 42, &number(1, 0));
    let done = message(3, 2, 42, &[0; 4]);
    let datagram = [other, first, second, done].concat();
    let read: Vec<_> = messages(&datagram, 42).collect();
    let listed = listed();
    let named = number(1, 0);
    let expected = [
        (Message::Attributes(listed.as_slice()), false),
        (Message::Attributes(named.as_slice()), true),
        (Message::End, false),
    ];
    assert_eq!(read, expected);
    let refused = message(2, 0, 7, &(-22_i32).to_ne_bytes());
    assert_eq!(messages(&refused, 7).next(), Some((Message::Refused(22), false)));
    let acknowledged = message(2, 0, 7, &[0; 20]);
    assert_eq!(messages(&acknowledged, 7).next(), Some((Message::End, false)));
}

#[test]
fn requests_are_those_of_the_header() {
    let expected = message(5 << 10 | 10, 1 | 0x300, 9, &number(1, 4));
    assert_eq!(request(Command::QueuePairs, true, 9, &[(1, 4)]), expected);
    let expected = message(5 << 10 | 17, 1 | 4, 9, &[number(1, 4), number(3, 1)].concat());
    assert_eq!(request(Command::Statistics, false, 9, &[(1, 4), (3, 1)]), expected);
}

/// A kernel without RDMA is reported as such; otherwise every device can be read.
#[test]
fn this_machine() {
    let mut netlink = match RdmaNetlink::open() {
        Ok(netlink) => netlink,
        Err(error @ NetlinkError::Absent) => {
            assert!(error.to_string().contains("no RDMA subsystem"));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    for device in netlink.devices().unwrap() {
        let pairs = netlink.queue_pairs(device.index).unwrap();
        assert!(pairs.iter().all(|pair| pair.device == device.name));
    }
    assert_eq!(netlink.take_health().iter().count(), 0);
}

proptest! {
    #[test]
    fn anything_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0_usize..400) {
        let listed = listed();
        let cut = &listed[..cut.min(listed.len())];
        for bytes in [bytes.as_slice(), cut] {
            let _ = (queue_pairs(bytes), device(bytes), statistics(bytes));
            messages(bytes, 0).count();
        }
    }

    #[test]
    fn a_truncated_answer_yields_no_invented_values(cut in 0_usize..400) {
        let listed = listed();
        let (all, _) = queue_pairs(&listed);
        let (some, _) = queue_pairs(&listed[..cut.min(listed.len())]);
        prop_assert!(some.iter().all(|pair| all.contains(pair)));
    }
}
