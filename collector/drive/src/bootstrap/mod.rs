//! How the ranks of a communicator find each other, as in NCCL (`src/bootstrap.cc`, `src/init.cc`,
//! `src/transport.cc`).
//!
//! Every rank checks in with the [`root`], learns where its successor listens, and so joins a ring
//! of TCP connections ([`ring`]). Over the ring, the ranks exchange their addresses and identities
//! ([`gather`]). A rank that has something for one other rank sends it a message ([`peer`]); that
//! is how the two ends of each data connection meet ([`transport_setup`]). [`communicator`] runs
//! all of this in order.

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
