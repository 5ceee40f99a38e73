//! The control plane: what TCP streams say about communicators before data flows. One file per
//! dialect; `plane.rs` recognises the dialect of a connection.

pub mod facts;
pub mod plane;

mod stream;
mod recognition;
mod ends;
mod frames;
pub mod pool;
mod pools;
mod bootstrap;
mod peer_message;
mod ring;
mod direction;
mod elements;
mod gathers;
mod exchange;
mod socket;
mod ras;
pub mod store;
