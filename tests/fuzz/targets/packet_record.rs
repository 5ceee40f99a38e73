//! Records of kernel programs at interfaces.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::packet_record::check(data));
