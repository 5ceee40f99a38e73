//! Datagrams of sFlow.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::sflow::check(data));
