//! Bundles, decompressed.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::bundle::check(data));
