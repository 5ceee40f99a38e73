//! How the ranks of a communicator find each other, as NCCL does it (`src/bootstrap.cc`,
//! `src/init.cc`, `src/transport.cc`).
//!
//! Every rank checks in with the [`root`], is told where its successor waits, and so becomes part of
//! a ring of TCP connections ([`ring`]). Over the ring everybody learns where everybody listens and
//! what everybody is ([`gather`]). Whoever has something for one other rank alone sends it a message
//! ([`peer`]): so the two ends of each data connection meet ([`transport_setup`]). [`communicator`]
//! is all of it in its order.

pub mod communicator;
mod connection;
pub mod gather;
pub mod identity;
pub mod peer;
pub mod ring;
pub mod root;
pub mod transport_setup;

pub use communicator::{Communicator, Joining};
pub use root::Root;
