//! What a client sends to the agent's pages.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::http_request::check(data));
