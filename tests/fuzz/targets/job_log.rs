//! A whole log of a job, judged.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::job_log::check(data));
