//! A conversation with a TCPStore.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::tcp_store::check(data));
