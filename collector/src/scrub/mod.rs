//! Takes names, addresses and keys out of what railscope reads, so that it may be sent to others. It keeps what
//! readers understand, field by field; all else is gone.
//!
//! ```text
//! key ─▶ pseudonym: crypto_pan (addresses), names, MACs, GUIDs, keys, virtual addresses
//!            ├─▶ frame, tunnels: headers field by field, payload zero or a sum, checksums and ICRC made right
//!            │     ├ rdma: the BTH and what follows it, management, NET/IB's FIFO
//!            │     └ stream: TCP; claims of bootstrap, endpoint (exchange of queue pairs), store
//!            ├─▶ lines: written anew from what was understood; text: words that may stay
//!            └─▶ search: nothing of the originals is left
//! ```
//!
//! The same original becomes the same pseudonym wherever it stands. In frames lengths stay, so the analysis
//! finds in the result what it found in the original.

pub mod crypto_pan;
pub mod frame;
pub mod key;
pub mod lines;
pub mod names;
pub mod pseudonym;
pub mod search;
pub mod stream;
pub mod text;
pub mod words;

mod bootstrap;
mod claim;
mod endpoint;
mod ids;
mod management;
mod peers;
mod rdma;
mod store;
mod sums;
mod tunnels;
