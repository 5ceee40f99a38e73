//! Takes names, addresses and keys out of what railscope reads, so that it may be sent to others.
//!
//! ```text
//! key ─▶ pseudonym: crypto_pan (addresses), names, MACs, GUIDs, keys, virtual addresses
//!            ├─▶ frame: headers rewritten, payload replaced, checksums and ICRC made right
//!            ├─▶ stream: TCP of NCCL's bootstrap, byte for byte of the same length
//!            ├─▶ text: logs, counters, answers of RAS
//!            └─▶ search: nothing of the originals is left
//! ```
//!
//! The same original becomes the same pseudonym wherever it stands, and lengths stay, so the analysis
//! finds in the result what it found in the original. What is not known to be needed is zero.

pub mod crypto_pan;
pub mod frame;
pub mod key;
pub mod pseudonym;
pub mod search;
pub mod stream;
pub mod text;

mod endpoint;
mod ids;
mod peers;
mod sums;
pub mod words;
