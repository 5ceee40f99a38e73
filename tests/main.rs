//! The suite of `railscope`: one binary, one module a subject.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy's own exception covers only #[test] functions"
)]

mod ingest;
mod support;
