//! A source for an agent without packets: its counters and exports go on.

use std::io;
use std::thread;
use std::time::Duration;

use crate::ingest::live::{LiveEvent, LiveSource};

/// Nothing ever comes.
#[derive(Debug)]
pub(super) struct Nothing;

impl LiveSource for Nothing {
    fn poll(&mut self, patience: Duration, _: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        thread::sleep(patience);
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }

    fn completeness(&self) -> Vec<String> {
        Vec::new()
    }
}
