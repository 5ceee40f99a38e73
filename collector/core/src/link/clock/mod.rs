//! Clocks of several taps, put onto one timeline by the packets that two taps saw.
//!
//! `sighting.rs` keeps a sample of packets that is the same at every tap. `upstream.rs` finds out
//! which of two taps a packet passed first, so that its stamps bound how far one clock is ahead of
//! the other; `channel.rs` finds the straight lines between all bounds, `track.rs` the line, or the
//! few where a clock was set. `relate.rs` relates all taps to a reference, `clocks.rs` is what comes out,
//! and `timeline.rs` puts what taps recorded onto the reference's time.
//!
//! The simplest clock that no packet contradicts is believed: as long as no packet was seen to arrive
//! before it left, two clocks are taken to be one, and nothing changes. Live taps of one machine share its
//! clock, and nothing is compared.

mod hull;
pub mod channel;
pub mod sighting;
mod upstream;
pub mod track;
pub mod clocks;
pub mod relate;
pub mod timeline;
