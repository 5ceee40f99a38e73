//! Marks records as plain data for the loader.

#![expect(unsafe_code, reason = "the loader's marker trait is unsafe")]

use railscope_ebpf::settings::Settings;

/// [`Settings`] in the object.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::ingest) struct Global(pub(in crate::ingest) Settings);

// SAFETY: plain data without padding, valid for every bit pattern: `bytemuck::Pod` is asked for.
unsafe impl aya::Pod for Global where Settings: bytemuck::Pod {}
