//! A web configuration.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::web_config::check(data));
