//! One socket of NET/Socket.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::net_socket::check(data));
