//! Priority flow control: frames that ask the port at the other end of a link to hold back a class
//! (IEEE 802.1Qbb, 802.3 annex 31D).
//!
//! They go no further than the link. The bridge between the ranks drops them, as any bridge must, so
//! `relay` stands in for the switch: what the port of a receiver asks for, it asks of the sender.

mod frame;
mod port;
mod relay;

pub use frame::{Pause, QUANTUM_BITS};
pub use port::Port;
pub use relay::Relay;
