//! Bootstraps that lie, from a script.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::bootstrap::check(data));
