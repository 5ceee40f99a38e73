//! A conversation with a TCPStore. A byte before each piece gives the speaker and the length.

use railscope_core::flow::tcp_stream::sink::Side;
use railscope_core::link::control::store::{Recognition, StoreConversation, recognises};
use railscope_core::model::witness::{LogId, Witness};

const WITNESS: Witness = Witness::Line { log: LogId(0), number: 1 };

/// Upper bound of memory: the keys of one request, those of pending requests, one value.
const KEPT_BYTES: usize = 1 << 20;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let verdict = recognises(data, Side::Client);
    let earlier = recognises(&data[..data.len() / 2], Side::Client);
    assert!(earlier == Recognition::NeedMore || earlier == verdict, "a verdict is final");
    let whole = talk(data, usize::MAX);
    assert_eq!(whole, talk(data, 1), "the result does not depend on how the bytes are cut");
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
        // The client's first bytes arrive in one piece: they identify the protocol.
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
