//! What every live source is: events while they happen, handed out to whoever asks in time.

use std::fmt;
use std::io;
use std::time::Duration;

use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::run::Run;
use railscope_core::model::tap::{HostName, Tap, TapId};

/// Where traffic is seen while it passes.
pub trait LiveSource: Send {
    /// Hands out what comes, in the order of time; waits for it, at most for `patience`. It returns soon
    /// whatever comes: call it again. Asked without patience it tells all that was lost until now.
    ///
    /// # Errors
    ///
    /// The source as a whole cannot go on. Trouble of one tap is an event.
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()>;

    /// Whether nothing will ever come again.
    fn is_over(&self) -> bool;

    /// CPU time that it costs in the kernel, by program; nothing where it has no programs there.
    fn kernel_times(&self) -> Vec<(String, Duration)> {
        Vec::new()
    }

    /// How complete it is, and what it cannot see, in sentences for people.
    fn completeness(&self) -> Vec<String>;
}

/// Something that a live source tells. A source numbers its taps from 0, in the order in which it
/// tells of them.
#[derive(Clone, Debug)]
pub enum LiveEvent<'a> {
    /// The next tap, before its first frame.
    Tap(Tap),
    /// A frame.
    Frame(Frame<'a>),
    /// Packets that were counted where they passed, and the next frame of their flow.
    Run(Run, Frame<'a>),
    /// Frames that found no room and that nobody will see.
    Lost {
        /// Where.
        tap: TapId,
        /// How many since the last time.
        frames: u64,
    },
    /// A name that a capture gives to an address.
    HostName(HostName),
    /// Something else was missed.
    Missed {
        /// What.
        event: HealthEvent,
        /// How many since the last time.
        count: u64,
    },
    /// Nothing comes from a tap, for now or for ever.
    Silent {
        /// Which.
        tap: TapId,
        /// Why.
        why: Silence,
    },
    /// Something that the user should know, in words.
    Warning(String),
}

/// Why nothing comes from a tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Its interface is down; frames come again once it is up.
    Down,
    /// Its interface was removed.
    Removed,
    /// It failed, for a reason in words.
    Failed(String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("the interface is down; nothing is seen until it is up"),
            Self::Removed => f.write_str("the interface was removed"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}
