//! The bytes after the UDP header of a RoCEv2 packet.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::roce::check(data));
