//! Conversations of every PyTorch version, cut up in every way.

use railscope_core::flow::tcp_stream::sink::{Interest, Side};
use railscope_core::link::control::facts::StoredId;
use railscope_core::link::control::store::{Recognition, Stop, StoreConversation, recognises};
use railscope_core::model::witness::{LogId, Witness};

use crate::support::random::Random;

const WITNESS: Witness = Witness::Line { log: LogId(0), number: 1 };
const CLIENT: Side = Side::Client;
const SERVER: Side = Side::Server;

/// An id of NCCL 2.16 and later: magic, 192.0.2.1:47825, zeros.
fn id(magic: u8) -> Vec<u8> {
    let mut id = vec![magic, 2, 3, 4, 5, 6, 7, 8, 2, 0, 0xba, 0xd1, 192, 0, 2, 1];
    id.resize(128, 0);
    id
}

fn number(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&number(bytes.len() as u64), bytes].concat()
}

/// A query and its parts.
fn query(code: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    [&[code][..], &parts.concat()].concat()
}

fn validation() -> Vec<u8> {
    vec![0, 0xce, 0xf7, 0x85, 0x3c]
}

/// Who sends what, in order.
type Exchange = Vec<(Side, Vec<u8>)>;

fn talk(exchange: &[(Side, Vec<u8>)], longest: usize) -> (Vec<StoredId>, Option<Stop>) {
    let [client, store] = ["192.0.2.9:40000", "192.0.2.1:29500"].map(|end| end.parse().unwrap());
    let mut conversation = StoreConversation::new(client, store);
    let mut ids = Vec::new();
    let mut is_first = true;
    for (side, bytes) in exchange {
        let (first, rest) = bytes.split_at(if is_first { 5 } else { 0 });
        is_first = false;
        for piece in std::iter::once(first).chain(rest.chunks(longest)) {
            conversation.bytes(*side, piece, WITNESS, &mut ids);
        }
    }
    (ids, conversation.stop())
}

/// Keys of the ids that are set, and of those that are read.
fn keys(exchange: &Exchange) -> [Vec<String>; 2] {
    let mut seen = Vec::new();
    for longest in [1, 2, 7, 1_000_000] {
        let (ids, stop) = talk(exchange, longest);
        assert_eq!(stop, None, "pieces of {longest}");
        let (set, got): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| id.is_set);
        seen.push([set, got].map(|ids| ids.into_iter().map(|id| id.key).collect::<Vec<_>>()));
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "the result does not depend on how the bytes are cut");
    seen.remove(0)
}

#[test]
fn every_query_of_the_latest_version() {
    let (k, v) = (text(b"/k"), text(b"value"));
    let exchange: Exchange = vec![
        (CLIENT, [validation(), query(13, &[vec![9, 9, 0, 0]])].concat()),
        (SERVER, vec![9, 9, 0, 0]),
        (CLIENT, query(1, &[text(b"/set"), text(&id(1))])),
        (CLIENT, query(9, &[k.clone(), v.clone()])),
        (CLIENT, query(2, &[text(b"/compare"), text(b""), text(&id(2))])),
        (SERVER, text(&id(2))),
        (CLIENT, query(4, &[k.clone(), number(1)])),
        (SERVER, number(3)),
        (CLIENT, query(5, &[number(2), k.clone(), k.clone()])),
        (SERVER, vec![1]),
        (CLIENT, query(6, &[number(1), text(b"/get")])),
        (SERVER, vec![0]),
        (CLIENT, query(3, &[text(b"/get")])),
        (SERVER, text(&id(3))),
        (CLIENT, query(7, &[])),
        (SERVER, number(12)),
        (CLIENT, query(8, std::slice::from_ref(&k))),
        (SERVER, number(1)),
        (CLIENT, query(11, &[number(2), text(b"/a"), text(&id(4)), text(b"/b"), v.clone()])),
        (CLIENT, query(10, &[number(2), text(b"/a"), text(b"/c")])),
        (SERVER, [text(&id(4)), text(&id(5))].concat()),
        // Two cancelled waits: the second was answered before the store saw the cancel.
        (CLIENT, query(6, &[number(1), k.clone()])),
        (CLIENT, query(12, &[])),
        (SERVER, vec![1]),
        (CLIENT, query(6, &[number(1), k.clone()])),
        (CLIENT, query(12, &[])),
        (SERVER, vec![0, 1]),
        (CLIENT, query(14, &[k.clone(), v.clone()])),
        (CLIENT, query(15, std::slice::from_ref(&k))),
        (SERVER, number(0)),
        (CLIENT, query(15, &[text(b"/queue")])),
        (SERVER, [number(1), text(&id(6))].concat()),
        (CLIENT, query(16, std::slice::from_ref(&k))),
        (SERVER, number(5)),
        (CLIENT, query(17, &[])),
        (SERVER, [number(2), k.clone(), text(&id(7))].concat()),
        (CLIENT, query(18, &[k, number(4)])),
        (SERVER, vec![0]),
        (CLIENT, query(3, &[text(b"/last")])),
        (SERVER, text(&id(8))),
    ];
    let [set, got] = keys(&exchange);
    assert_eq!(set, ["/set", "/a"]);
    assert_eq!(got, ["/compare", "/get", "/a", "/c", "/queue", "/last"]);
}

/// A client of PyTorch 2.1 and earlier has no signature, and counts from 0.
fn old_start() -> Vec<u8> {
    [query(3, &[text(b"init/"), number(1)]), query(5, &[number(1), text(b"init/")])].concat()
}

#[test]
fn versions_without_a_signature_are_known_by_two_requests() {
    let start = old_start();
    for len in 0..start.len() {
        assert_eq!(recognises(&start[..len], CLIENT), Recognition::NeedMore, "{len} bytes");
    }
    assert_eq!(recognises(&start, CLIENT), Recognition::Yes);
    let exchange: Exchange = vec![
        (CLIENT, start),
        (SERVER, [number(4), vec![0]].concat()),
        (CLIENT, query(0, &[text(b"/default_pg/0//0"), text(&id(1))])),
        (CLIENT, query(5, &[number(1), text(b"/default_pg/0//1")])),
        (SERVER, vec![0]),
        (CLIENT, query(2, &[text(b"/default_pg/0//1")])),
        (SERVER, text(&id(2))),
        (CLIENT, query(9, &[number(1), text(b"/of 2.1")])),
        (SERVER, text(&id(3))),
    ];
    let [set, got] = keys(&exchange);
    assert_eq!(set, ["/default_pg/0//0"]);
    assert_eq!(got, ["/default_pg/0//1", "/of 2.1"]);
}

#[test]
fn a_number_that_means_two_things_stops_the_reading() {
    let exchange = [(CLIENT, old_start()), (CLIENT, query(8, &[text(b"/k")]))];
    assert_eq!(talk(&exchange, 99).1, Some(Stop::Malformed));
}

#[test]
fn other_protocols_are_no_store() {
    let mut magic_and_type = vec![0x6c, 0x9d, 0x4b, 0xfc, 0xf2, 0xb9, 0x4a, 0x56, 4, 0, 0, 0];
    magic_and_type.extend([0; 100]);
    let others: [&[u8]; 9] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        &magic_and_type,
        &[0; 200],
        &[0xff; 200],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        // Keys that PyTorch does not use, and an absurd count.
        &query(3, &[text(b"plain"), number(1)]),
        &query(3, &[text(b"/\x00"), number(1)]),
        &query(5, &[number(1 << 40), text(b"/k")]),
    ];
    for other in others {
        assert_eq!(recognises(other, CLIENT), Recognition::No, "{other:02x?}");
    }
    assert_eq!(recognises(&validation(), SERVER), Recognition::No);
    let mut random = Random::new(29_500);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..64).map(|_| random.next() as u8).collect();
        assert_eq!(recognises(&bytes, CLIENT), Recognition::No);
    }
    let large = query(0, &[text(b"/k"), text(&vec![0; 5_000])]);
    assert_eq!(
        recognises(&large[..5_000], CLIENT),
        Recognition::No,
        "recognition gives up at some length"
    );
}

#[test]
fn only_a_unique_id_is_one() {
    let mut tail = id(1);
    tail[127] = 1;
    let others = [tail, vec![0; 128], vec![7; 128], id(1)[..127].to_vec(), vec![0; 3_000_000]];
    for value in others {
        let exchange =
            vec![(CLIENT, [validation(), query(1, &[text(b"/k"), text(&value)])].concat())];
        let (ids, stop) = talk(&exchange, 1_448);
        assert_eq!((ids.len(), stop), (0, None));
    }
}

#[test]
fn a_reply_that_was_not_captured_is_settled_by_the_next_request() {
    let ends = ["192.0.2.9:40000", "192.0.2.1:29500"].map(|end| end.parse().unwrap());
    let mut conversation = StoreConversation::new(ends[0], ends[1]);
    let mut ids = Vec::new();
    let mut say = |conversation: &mut StoreConversation, side, bytes: &[u8]| {
        conversation.bytes(side, bytes, WITNESS, &mut ids)
    };
    let get = |key| query(3, &[text(key)]);
    say(&mut conversation, CLIENT, &[validation(), get(b"/lost")].concat());
    assert_eq!(conversation.gap(SERVER), Interest::More);
    say(&mut conversation, SERVER, &id(1)[50..]);
    say(&mut conversation, CLIENT, &get(b"/next"));
    say(&mut conversation, SERVER, &text(&id(2)));
    assert_eq!(conversation.gap(CLIENT), Interest::Enough);
    assert_eq!(say(&mut conversation, CLIENT, &get(b"/unread")), Interest::Enough);
    assert_eq!(conversation.stop(), Some(Stop::Gap));
    assert_eq!(ids.into_iter().map(|id| id.key).collect::<Vec<_>>(), ["/next"]);
}

#[test]
fn malformed_exchanges_stop_the_reading() {
    let start = (CLIENT, validation());
    let unasked = [start.clone(), (SERVER, vec![1])];
    let no_answer = [start.clone(), (CLIENT, query(5, &[number(0)])), (SERVER, vec![7])];
    let no_query = [start.clone(), (CLIENT, vec![99])];
    let long_key = [start.clone(), (CLIENT, query(3, &[number(1 << 20)]))];
    let not_cancelled =
        [start.clone(), (CLIENT, query(6, &[number(1), text(b"/k")])), (SERVER, vec![1])];
    for exchange in [&unasked[..], &no_answer, &no_query, &long_key, &not_cancelled] {
        assert_eq!(talk(exchange, 99).1, Some(Stop::Malformed), "{exchange:?}");
    }
    let mut flood = vec![start];
    flood.extend((0..2_000).map(|_| (CLIENT, query(7, &[]))));
    assert_eq!(talk(&flood, 99).1, Some(Stop::Malformed));
}

#[test]
fn keys_beyond_the_limit_are_skipped() {
    let keys: Vec<Vec<u8>> = (0..40_000_u32).map(|at| text(&at.to_le_bytes())).collect();
    let ask = query(10, &[number(40_000), keys.concat()]);
    let replies = text(&id(1)).repeat(40_000);
    let exchange = vec![(CLIENT, [validation(), ask].concat()), (SERVER, replies)];
    let (ids, stop) = talk(&exchange, 1_448);
    assert_eq!(stop, None);
    assert_eq!(ids.len(), (64 << 10) / 36);
}
