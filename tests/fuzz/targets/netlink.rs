//! Answers of the kernel's RDMA subsystem.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::netlink::check(data));
