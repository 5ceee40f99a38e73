//! A whole capture file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::pipeline::check(data));
