//! Datagrams into the driver's own RDMA adapter.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::drive_packet::check(data));
