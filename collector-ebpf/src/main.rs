//! The kernel programs, one hook a file. Built by `cargo xtask ebpf` for the BPF target; anywhere
//! else this is an empty program, so that the whole workspace is built and checked together.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod program;

#[cfg(not(target_arch = "bpf"))]
fn main() {}

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Some helpers of the kernel are for programs under its own licence only.
#[expect(unsafe_code, reason = "names a section of the object")]
#[cfg(target_arch = "bpf")]
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
