//! The suite of `railscope`: one binary, one module a subject.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test that cannot go on has failed; `pub` here is what modules share"
)]

// Short conversations give the report that their definitions give.
mod conversations;
// Built frames against what is decoded of them.
mod decode;
// ICRC counts equal an independent script's.
mod icrc;
// What is known of the captures is found in them.
mod known_captures;
// The captures under tests/fixtures are the ones that were described.
mod manifest;
// Builders and oracles.
mod support;
// Every field that tshark also knows equals tshark's.
mod tshark;
