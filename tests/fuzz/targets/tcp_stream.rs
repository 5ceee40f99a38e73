//! Segments of TCP connections, from a script.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::tcp_stream::check(data));
