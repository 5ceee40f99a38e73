//! What all live sources have in common: they deliver events as they happen, to a caller that polls.

use std::fmt;
use std::io;
use std::time::Duration;

use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::run::Run;
use railscope_core::model::tap::{HostName, Tap, TapId};

/// A source of live traffic.
pub trait LiveSource: Send {
    /// Delivers events in the order of time, and waits for them at most for `patience`. It returns soon
    /// however many come: call it again. Without patience it also reports all losses so far.
    ///
    /// # Errors
    ///
    /// The source as a whole cannot go on. Trouble of one tap is an event.
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()>;

    /// Whether no event will ever come again.
    fn is_over(&self) -> bool;

    /// Whether the last poll delivered all that had passed the tap, and more could come: it is not behind, and
    /// the interface is up. Then silence means that nothing passed. Never so where others capture.
    fn is_quiet(&self, _tap: TapId) -> bool {
        false
    }

    /// Whether the kernel keeps what comes for long enough that a poll need not wait here while there are
    /// other sources.
    fn is_patient(&self) -> bool {
        false
    }

    /// Follows one more interface, or one that was removed and is there again: as the tap that it was.
    ///
    /// # Errors
    ///
    /// It cannot be observed.
    fn follow(&mut self, _interface: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Lets go of an interface that was removed.
    fn forget(&mut self, _interface: &str) {}

    /// CPU time of its kernel programs, by name; empty where it has none.
    fn kernel_times(&self) -> Vec<(String, Duration)> {
        Vec::new()
    }

    /// What it sees and what it cannot, in sentences for people.
    fn completeness(&self) -> Vec<String>;
}

/// An event of a live source. A source numbers its taps from 0, in the order of their `Tap` events.
#[derive(Clone, Debug)]
pub enum LiveEvent<'a> {
    /// The next tap, before its first frame.
    Tap(Tap),
    /// A captured frame, borrowed until the sink returns.
    Frame(Frame<'a>),
    /// Packets that the kernel counted, and the next frame of their flow.
    Run(Run, Frame<'a>),
    /// Frames that were dropped because a buffer was full.
    Lost {
        /// Number of the tap within the source.
        tap: TapId,
        /// Their number since the last such event.
        frames: u64,
    },
    /// A name that a capture gives to an address.
    HostName(HostName),
    /// Something else was missed.
    Missed {
        /// The counter.
        event: HealthEvent,
        /// Its growth since the last such event.
        count: u64,
    },
    /// A tap delivers nothing, for a while or for good.
    Silent {
        /// Number of the tap within the source.
        tap: TapId,
        /// The reason.
        why: Silence,
    },
    /// Something that the user should know, in words.
    Warning(String),
}

/// Why a tap delivers nothing.
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
            Self::Down => f.write_str("the interface is down: no packets until it is up"),
            Self::Removed => f.write_str("the interface was removed"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}
