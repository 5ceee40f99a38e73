//! RoCEv2 in user space: an RDMA adapter over UDP sockets that needs neither hardware nor root.
//!
//! [`SoftAdapter`] puts sockets and a clock around [`engine::Engine`], which is deterministic:
//! packets in, packets out. Each of its queue pairs is a [`requester`] and a [`responder`]. Packets
//! follow the specification: PSNs, ACKs and NAKs, go-back-N, RNR, ICRC, CNPs on CE. Other adapters
//! would understand them except for one thing: the expected ICRC assumes IPv4 identification 0,
//! which a UDP socket cannot see.

pub mod adapter;
pub mod batch;
pub mod congestion;
pub mod counters;
pub mod engine;
pub mod fault;
pub mod icrc;
pub mod memory;
pub mod packet;
pub mod pause;
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
pub use pause::PortPause;
