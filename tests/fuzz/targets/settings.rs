//! The settings, read twice.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::settings::check(data));
