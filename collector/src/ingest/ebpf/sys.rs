//! The records of maps, as the loader wants them marked.

#![expect(unsafe_code, reason = "a marker of the loader's")]

use railscope_ebpf::settings::Settings;

/// [`Settings`] in the object.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::ingest) struct Global(pub(in crate::ingest) Settings);

// SAFETY: plain data without padding, valid for every bit pattern: `bytemuck::Pod` is asked for.
unsafe impl aya::Pod for Global where Settings: bytemuck::Pod {}
