//! A management datagram.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::connection_manager::check(data));
