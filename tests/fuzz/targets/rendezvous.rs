//! Conversations with a TCPStore that lie, from a script.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::rendezvous::check(data));
