//! What is scrubbed: frames, lines and TCP of NCCL.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::scrub::check(data));
