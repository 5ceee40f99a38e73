//! Hooks, and their shared code.
//!
//! Every packet, map value and ring entry is a kernel pointer: the verifier refuses a program that could
//! read or write elsewhere, so it checks the unsafe code here.
#![expect(unsafe_code, reason = "kernel memory; the verifier proves every access")]

mod call;
mod clock;
mod connection;
mod encapsulated;
mod headers;
mod log;
mod maps;
mod packet;
mod repeated;
mod roce;
mod share;
mod tc;
mod tcp;
mod xdp;
