//! Dumps of the flight recorder and answers of RAS.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::call_record::check(data));
