//! Puts the clocks of several taps onto one timeline, by packets that two taps saw.
//!
//! `sighting.rs` keeps a sample of packets that is the same at every tap. `upstream.rs` finds out
//! which of two taps a packet passed first, so that its stamps bound the offset between the clocks;
//! `channel.rs` finds the straight lines within all bounds, `track.rs` the line, or several if a
//! clock was set. `relate.rs` relates all taps to a reference, `clocks.rs` is the result, and
//! `timeline.rs` converts recorded times.
//!
//! The simplest clock that no packet contradicts is believed: unless a packet seems to arrive
//! before it left, two clocks are considered equal, and nothing changes. Live taps of one machine
//! share its clock and are not compared.

mod hull;
pub mod channel;
pub mod sighting;
mod upstream;
pub mod track;
pub mod clocks;
pub mod relate;
pub mod timeline;
