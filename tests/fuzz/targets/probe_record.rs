//! Records of kernel programs about calls and connections.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::probe_record::check(data));
