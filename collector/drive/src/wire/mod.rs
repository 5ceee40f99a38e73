//! What NCCL sends, as bytes: every structure of the control plane, built and read.
//!
//! Layouts are those of the DWARF in `libnccl.so.2` of the release; the source that fills them is
//! named with each. Integers are little-endian unless something else is said, gaps are zero. Readers
//! take bytes of any origin: what cannot be is refused with words that say why.

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

/// Why bytes are not what they should be, to follow the peer's name: `a check-in of 3 bytes instead
/// of 64`.
pub type Refused = String;

/// What reading bytes gives.
pub type Parsed<T> = Result<T, Refused>;
