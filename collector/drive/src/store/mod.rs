//! Where ranks meet: PyTorch's TCPStore, server and client (`torch/csrc/distributed/c10d`).
//!
//! A key-value store over TCP. [`request`] is the protocol, [`contents`] the state; neither uses
//! sockets. [`server`] is a thread over them, [`client`] the other side, and [`rendezvous`] what
//! PyTorch does with the store before a job starts.

pub mod argument;
pub mod client;
pub mod contents;
mod reader;
pub mod rendezvous;
pub mod request;
pub mod server;

pub use client::Client;
pub use server::Server;
