//! Hooks, and what they share.
//!
//! Every packet, map value and ring entry is a pointer of the kernel's: the verifier, which refuses a
//! program that could read or write elsewhere, is the judge of what is unsafe here.
#![expect(unsafe_code, reason = "kernel memory; the verifier proves every access")]

mod call;
mod connection;
mod headers;
mod log;
mod maps;
mod repeated;
mod roce;
mod tc;
mod tcp;
