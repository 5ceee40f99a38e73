//! Two clients of the driver's TCPStore.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::drive_store::check(data));
