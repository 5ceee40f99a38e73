//! NCCL's control plane, its formats and its connections.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::nccl::check(data));
