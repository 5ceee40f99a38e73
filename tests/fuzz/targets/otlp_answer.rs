//! A receiver's answer to a batch.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::otlp_answer::check(data));
