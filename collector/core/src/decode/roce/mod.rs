//! RoCEv2: what follows UDP port 4791. One header a file; IBTA volume 1 chapter 9, annex A17.

pub mod aeth;
pub mod atomic;
pub mod bth;
pub mod connection_manager;
pub mod connection_request;
pub mod deth;
pub mod flush;
pub mod icrc;
pub mod immediate;
pub mod ip_service;
pub mod mad;
pub mod packet;
pub mod rdeth;
pub mod reject;
pub mod reth;
pub mod xrceth;

mod fields;

/// The UDP destination port of RoCEv2 (IANA: roce).
pub const UDP_PORT: u16 = 4791;
