//! Lines of training logs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::train_log::check(data));
