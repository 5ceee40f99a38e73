//! RoCEv2 in user space: an RDMA adapter of UDP sockets, which needs neither hardware nor root.
//!
//! [`SoftAdapter`] puts sockets and a clock around [`engine::Engine`], which is deterministic: its
//! queue pairs are a [`requester`] and a [`responder`] each, packets in, packets out. Packets are
//! those of the specification: PSNs, ACKs and NAKs, go-back-N, RNR, ICRC, CNPs on CE. Other
//! adapters would understand them but for one thing: the ICRC that is expected assumes IPv4
//! identification 0, which a UDP socket cannot see.

pub mod adapter;
pub mod batch;
pub mod congestion;
pub mod counters;
pub mod engine;
pub mod fault;
pub mod icrc;
pub mod memory;
pub mod packet;
pub mod psn;
pub mod queue_pair;
pub mod requester;
pub mod responder;
pub mod socket;
pub mod sys;
pub mod window;

pub use adapter::{SoftAdapter, SoftSettings};
pub use counters::Counters;
pub use fault::{FaultKind, Injection, SoftFault};
