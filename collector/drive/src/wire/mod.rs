//! What NCCL sends, as bytes: builds and reads every structure of the control plane.
//!
//! Layouts come from the DWARF in `libnccl.so.2` of the release; each module names the source that
//! fills them. Integers are little-endian unless stated otherwise, gaps are zero. Readers accept
//! bytes of any origin: invalid input is refused with a reason.

pub mod check_in;
pub mod connect_entry;
pub mod cts;
pub mod greeting;
pub mod hash;
pub mod ib_handle;
pub mod ib_metadata;
mod image;
pub mod net_socket_handle;
pub mod peer_info;
pub mod ring_data;
pub mod root_reply;
pub mod socket_address;
pub mod topology;
pub mod unique_id;

pub use unique_id::UniqueId;

/// Why bytes are invalid, to follow the peer's name: `a check-in of 3 bytes instead of 64`.
pub type Refused = String;

/// A parsed structure, or why its bytes were refused.
pub type Parsed<T> = Result<T, Refused>;
