//! Lines of NCCL's log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::nccl_log::check(data));
