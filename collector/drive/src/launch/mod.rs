//! Ranks from their start to their end: processes of this machine, or one rank of a job that another
//! launcher started.
//!
//! Whoever shows the table gets [`Event`]s of all ranks: from `child` processes, or over the store.
//! `supervise` is the loop over them.

mod child;
mod ending;
mod mailbox;
mod message;
mod pipe;
mod supervise;

pub use ending::Ending;
pub use mailbox::{StoreOutlet, listen};
pub use message::{Failure, Message, Outlet, Reporter};
pub use pipe::PipeOutlet;
pub use supervise::{Audience, Outcome, Ranks, supervise};

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A rank said something.
    Said(u32, Message),
    /// A rank printed what is no message.
    Noise(u32, String),
    /// A rank ended.
    Ended(u32, Ending),
    /// The user wants an end.
    Interrupted,
}
