//! The suite of `railscope`: one binary, one module a subject.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy's own exception covers only #[test] functions"
)]
#![expect(unreachable_pub, reason = "`pub` is what the modules of the suite share")]

// The agent: its settings and its pages.
#[cfg(all(target_os = "linux", feature = "agent"))]
mod agent;
// What training processes call, as kernel programs tell it.
#[cfg(all(target_os = "linux", feature = "live"))]
mod calls;
// The program as a user runs it.
mod cli;
// Clocks of several taps.
mod clock;
// Collectives: the forward model against recorded jobs, and the search against the model.
mod collective;
// Short conversations give the report that their definitions give.
mod conversations;
// Built frames against what is decoded of them.
mod decode;
// The driver: what it sends and what it says it did.
#[cfg(all(target_os = "linux", feature = "drive"))]
mod drive;
// What is wrong is found, and nothing else is.
mod findings;
// Loss, order, pairs and messages against simulated wires.
mod flow;
// What people see of the fixtures.
mod golden;
// What was missed, and that each counter of it is explained.
mod health;
// Whatever comes in: no panic, bounded memory, everything counted.
mod hostile;
// ICRC counts equal an independent script's.
mod icrc;
// Capture files in, events out.
mod ingest;
// What is known of the captures is found in them.
mod known_captures;
// Training steps: found again in made-up jobs and in recorded ones.
mod iteration;
// What traffic is linked to.
mod link;
// What is seen while it passes.
#[cfg(target_os = "linux")]
mod live;
// NCCL's logs: lines, facts, text.
mod logs;
// Metrics: their catalogue, their sums, their text.
mod metrics;
// The captures under tests/fixtures are the ones that were described.
mod manifest;
// What a training node knows of itself besides packets, in trees of kernel files.
#[cfg(target_os = "linux")]
mod node;
// OTLP, as real receivers take it.
#[cfg(feature = "otlp")]
mod otlp;
// Timelines, checked by an independent script.
mod perfetto;
// What the README shows is what the program prints.
mod readme;
// The JSON contract.
mod schema;
// Builders and oracles.
mod support;
// TCP streams against tshark and against an own segmenter.
mod tcp;
// PyTorch's TCPStore against what its clients did.
mod tcp_store;
// Every field that tshark also knows equals tshark's.
mod tshark;
