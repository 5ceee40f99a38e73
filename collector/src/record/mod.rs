//! Records every frame of interfaces: into one file, or into a ring on disk that looks back.
//!
//! ```text
//!                 +-> Feed -> Session -> Analyst -> Judge: is this a trigger? -+
//! AfPacket -> chunks                                                           | save
//! (a thread)      +-> writer (a thread): filter, zstd -> segments of a ring <--+
//!                                                    |  -> or one file
//!                                                    +-> a save (a thread): read the segments, analyse them,
//!                                                        write one file with comments and names
//! ```
//!
//! Recording comes first: if the analysis is slower than the traffic, it misses frames, which are counted, and
//! the file has them all. All queues are bounded; what does not fit is counted as lost.

pub mod beside;
pub mod control;
pub mod description;
pub mod file_names;
pub mod recorder;
pub mod save;
pub mod saver;
pub mod snap;
pub mod tally;
pub mod trigger;

mod capture;
mod chunk;
mod clock;
mod feed;
mod private;
mod queue;
mod ring;
mod single;
mod writer;

pub use self::clock::now;
pub use self::ring::RingError;
