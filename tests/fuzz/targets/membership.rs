//! What `/proc` says of a process.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::membership::check(data));
