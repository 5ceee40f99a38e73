//! The watched functions of a library file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::library::check(data));
