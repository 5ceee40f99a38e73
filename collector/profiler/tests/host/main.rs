//! A host that loads the library as NCCL does and plays scripted calls of each version.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy's own exception covers only #[test] functions"
)]
#![cfg(target_os = "linux")]

// The same by a program in C, also under valgrind.
mod c_program;
// Calls, by version: descriptors at the offsets of NCCL's headers.
mod descriptor;
// Files and rings that are cut or damaged.
mod hostile;
// Several communicators, threads, masks and libraries.
mod many;
// A second plugin behind this one.
mod next;
// Recorded jobs.
mod recorded;
// The ring as an agent reads it, and its lease.
mod ring;
// What NCCL may do, rule by rule.
mod rules;
// Loads the library and calls it.
mod sys;
