//! Runs ranks from start to end: processes of this machine, or one rank of a job that another
//! launcher started.
//!
//! The process that shows the table receives [`Event`]s of all ranks: from `child` processes, or
//! through the store. `supervise` is the event loop.

mod child;
mod ending;
mod mailbox;
mod message;
mod pipe;
mod supervise;

pub use ending::Ending;
pub use mailbox::{StoreOutlet, listen};
pub use message::{Detail, Failure, Message, Outlet, Reporter};
pub use pipe::PipeOutlet;
pub use supervise::{Audience, Outcome, Ranks, supervise};

/// An event of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A rank sent a message.
    Said(u32, Message),
    /// A rank printed something that is not a message.
    Noise(u32, String),
    /// A rank ended.
    Ended(u32, Ending),
    /// The user interrupted the job.
    Interrupted,
}
