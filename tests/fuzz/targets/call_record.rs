//! Lines of training logs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::call_record::check(data));
