//! Answers of the kernel's RDMA subsystem over netlink: any bytes, as a datagram.

use railscope::ingest::rdma_netlink::answer::{device, queue_pairs, statistics};
use railscope::ingest::rdma_netlink::message::{
    Command, Message, attribute, attributes, messages, number_u32, request,
};

/// Number of the request that is answered.
const REQUEST: u32 = 1;

/// Bytes of a message's head, and of an attribute's.
const MESSAGE_HEAD: usize = 16;
const ATTRIBUTE_HEAD: usize = 4;

/// Panics if an invariant does not hold.
pub fn check(datagram: &[u8]) {
    let all: Vec<_> = messages(datagram, REQUEST).collect();
    assert!(all.len() <= datagram.len() / MESSAGE_HEAD);
    let cut: Vec<_> = messages(&datagram[..datagram.len() / 2], REQUEST).collect();
    assert_eq!(cut, all[..cut.len()], "a truncated datagram has the first messages");
    for (message, _) in &all {
        if let Message::Attributes(bytes) = message {
            check_entry(bytes);
        }
    }
    check_entry(datagram);
    check_request(datagram);
}

/// What is read of an entry is in its bytes.
fn check_entry(bytes: &[u8]) {
    let most = bytes.len() / ATTRIBUTE_HEAD;
    let of_values: usize = attributes(bytes).map(|(_, value)| ATTRIBUTE_HEAD + value.len()).sum();
    assert!(of_values <= bytes.len(), "attributes do not overlap");
    let (pairs, unread) = queue_pairs(bytes);
    assert!(pairs.len() as u64 + unread <= most as u64);
    let counters = statistics(bytes);
    assert!(counters.len() <= most);
    let devices = device(bytes).map(|one| one.name).into_iter();
    let names = devices.chain(pairs.into_iter().map(|pair| pair.device));
    for name in names.chain(counters.into_iter().map(|(name, _)| name)) {
        // A byte that is not UTF-8 becomes a character of three.
        assert!(!name.contains('\0') && name.len() <= 3 * bytes.len(), "{name:?}");
    }
}

/// A request is a message, whose attributes are those that were given.
fn check_request(bytes: &[u8]) {
    let numbers = bytes.chunks_exact(4).filter_map(number_u32).take(64);
    let given: Vec<(u16, u32)> = (attribute::DEV_INDEX..).zip(numbers).collect();
    let request = request(Command::QueuePairs, true, REQUEST, &given);
    let mut read = messages(&request, REQUEST);
    let Some((Message::Attributes(body), false)) = read.next() else {
        panic!("it is one message with attributes");
    };
    assert!(read.next().is_none());
    let read = attributes(body).filter_map(|(kind, value)| Some((kind, number_u32(value)?)));
    assert_eq!(read.collect::<Vec<_>>(), given);
}
