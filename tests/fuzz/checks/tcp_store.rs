//! A conversation with a TCPStore, each piece after a byte that says who speaks and how long.

use railscope_core::flow::tcp_stream::sink::Side;
use railscope_core::link::control::store::{Recognition, StoreConversation, recognises};
use railscope_core::model::witness::{LogId, Witness};

const WITNESS: Witness = Witness::Line { log: LogId(0), number: 1 };

/// More is never kept: the keys of one request, those of requests that wait, a value.
const KEPT_BYTES: usize = 1 << 20;

/// Panics where an invariant does not hold.
pub fn check(data: &[u8]) {
    let verdict = recognises(data, Side::Client);
    let earlier = recognises(&data[..data.len() / 2], Side::Client);
    assert!(earlier == Recognition::NeedMore || earlier == verdict, "a verdict is final");
    let whole = talk(data, usize::MAX);
    assert_eq!(whole, talk(data, 1), "it does not matter how the bytes are cut");
}

fn talk(data: &[u8], longest: usize) -> String {
    let [client, store] = [40_000, 29_500].map(|port| ([192, 0, 2, 1], port).into());
    let mut conversation = StoreConversation::new(client, store);
    let mut ids = Vec::new();
    let mut rest = data;
    let mut is_first = true;
    while let Some((&head, after)) = rest.split_first() {
        let side = if head & 0x80 == 0 { Side::Client } else { Side::Server };
        let (bytes, after) = after.split_at(after.len().min(usize::from(head & 0x7f) * 2));
        rest = after;
        if bytes.is_empty() {
            conversation.gap(side);
        }
        // The client's first bytes come in one piece: they are what was recognised.
        let start = if is_first && side == Side::Client { bytes.len() } else { 0 };
        is_first &= side == Side::Server || bytes.is_empty();
        let (first, others) = bytes.split_at(start);
        for piece in std::iter::once(first).chain(others.chunks(longest)) {
            if !piece.is_empty() {
                conversation.bytes(side, piece, WITNESS, &mut ids);
            }
            assert!(conversation.kept() <= KEPT_BYTES);
        }
    }
    format!("{:?} {ids:?}", conversation.stop())
}
