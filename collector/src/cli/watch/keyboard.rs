//! Keys and size changes, read by a separate thread: once the terminal has hung up, crossterm's reader
//! never returns.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};

/// The keyboard. Its thread ends with the process.
pub(super) struct Keyboard {
    events: Receiver<io::Result<Event>>,
}

impl Keyboard {
    /// Begins to read the terminal, which is in raw mode.
    pub(super) fn start() -> io::Result<Self> {
        let (sender, events) = channel();
        let read = move || {
            loop {
                let event = event::read();
                let has_failed = event.is_err();
                if sender.send(event).is_err() || has_failed {
                    return;
                }
            }
        };
        thread::Builder::new().name("keyboard".to_owned()).spawn(read)?;
        Ok(Self { events })
    }

    /// The next event, if one comes within `patience`.
    pub(super) fn next(&self, patience: Duration) -> io::Result<Option<Event>> {
        match self.events.recv_timeout(patience) {
            Ok(event) => event.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("its keys are no longer read"))
            }
        }
    }
}
