//! NCCL's own formats: bytes to values, stateless. Structures are sent as they are in memory, so
//! each format has a layout per range of releases; `layout.rs` has the one table of them.

pub mod layout;
pub mod hash;
pub mod unique_id;
pub mod comm_hash;
pub mod pid_hash;
pub mod greeting;
pub mod check_in;
pub mod root_reply;
pub mod ring_data;
pub mod peer_info;
pub mod topology;
pub mod split;
pub mod peer_message;
pub mod net_handle;
pub mod net_socket;
pub mod line_flags;
pub mod ib_devices;
pub mod ib_endpoint;
pub mod cts;
pub mod ras;
pub mod proxy;

mod structure;
