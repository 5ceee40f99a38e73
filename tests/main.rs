//! The suite of `railscope`: one binary, one module per subject.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy's own exception covers only #[test] functions"
)]
#![expect(unreachable_pub, reason = "`pub` marks what the suite's modules share")]

// The agent: its settings and its pages.
#[cfg(all(target_os = "linux", feature = "agent"))]
mod agent;
// Threads of people who asked for days, and what is said now.
mod answers;
// Everything of a job in one file.
mod bundle;
// Calls of training processes, from kernel programs.
#[cfg(all(target_os = "linux", feature = "live"))]
mod calls;
// `railscope capture`.
#[cfg(all(target_os = "linux", feature = "drive"))]
mod capture;
// The program as a user runs it.
mod cli;
// Clocks of several taps.
mod clock;
// Collectives: the forward model against recorded jobs, and the search against the model.
mod collective;
// Two jobs side by side.
mod compare;
// Short conversations with reports worked out by hand.
mod conversations;
// Grafana boards and Prometheus rules.
mod dashboards;
// Built frames against their decoded form.
mod decode;
// A node before a job: each check, right and wrong; nodes side by side.
#[cfg(all(target_os = "linux", feature = "live"))]
mod doctor;
// The driver: what it sends, and what it reports.
#[cfg(all(target_os = "linux", feature = "drive"))]
mod drive;
// Findings: right where they apply, and none elsewhere.
mod findings;
// Jobs that no longer move.
mod hangs;
// Loss, order, pairs and messages, against simulated wires.
mod flow;
// Text output on the fixtures.
mod golden;
// CPU time by size of each input.
#[cfg(target_os = "linux")]
mod growth;
// Pages: content, policy, hostile names, and in a browser.
mod html;
// The counters of `health`, and that each is explained.
mod health;
// Any input: no panic, bounded memory, everything counted.
mod hostile;
// ICRC counts against an independent script.
mod icrc;
// Capture files in, events out.
mod ingest;
// Known facts about the captures.
mod known_captures;
// Training steps in made-up and recorded jobs.
mod iteration;
// Links from traffic to ranks.
mod link;
// Live sources.
#[cfg(target_os = "linux")]
mod live;
// NCCL's logs: lines, facts, text.
mod logs;
// Metrics: catalogue, sums, text.
mod metrics;
// The captures in tests/fixtures match their manifest.
mod manifest;
// A training node's data besides packets, in trees of kernel files.
#[cfg(target_os = "linux")]
mod node;
// OTLP, with real receivers.
#[cfg(feature = "otlp")]
mod otlp;
// Outputs of other tools, as people paste them.
mod outputs;
// `railscope doctor ping`.
#[cfg(target_os = "linux")]
mod ping;
// Timelines, checked by an independent script.
mod perfetto;
// The README shows what the program prints.
mod readme;
// The JSON contract.
mod schema;
// What switches sampled.
mod sflow;
// Reports that are made while they are written.
mod streamed;
// Builders and oracles.
mod support;
// Tables for SQL, row by row against the JSON.
#[cfg(feature = "parquet")]
mod tables;
// TCP streams, against tshark and a segmenter of our own.
mod tcp;
// PyTorch's TCPStore, against its clients' requests.
mod tcp_store;
// Verdicts: the first line is the cause.
#[cfg(feature = "drive")]
mod verdicts;
// Fields that tshark also knows equal tshark's.
mod tshark;
