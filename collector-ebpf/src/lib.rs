//! Records from the kernel programs to user space, with the same layout on both sides.
//!
//! Rules for everything here: `#[repr(C)]`, plain data, no hidden padding, no pointer, host byte
//! order. A flag is a `u32`, never a `bool`, so that every bit pattern read from a map is a valid
//! value. Times are nanoseconds of `CLOCK_MONOTONIC`.
#![no_std]

pub mod call;
pub mod connection;
pub mod event;
pub mod flow;
pub mod loss;
pub mod settings;
pub mod share;
pub mod stream;
pub mod table;
