//! Where ranks meet: PyTorch's TCPStore, server and client (`torch/csrc/distributed/c10d`).
//!
//! A key-value store on TCP. [`request`] is the protocol, [`contents`] what the store holds and who
//! waits for what; neither knows a socket. [`server`] is a thread over them, [`client`] the other
//! side, and [`rendezvous`] what PyTorch does with it before a job begins.

pub mod client;
pub mod contents;
mod reader;
pub mod rendezvous;
pub mod request;
pub mod server;

pub use client::Client;
pub use server::Server;
