//! Files and rings of NCCL's profiler plugin.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::profiler::check(data));
