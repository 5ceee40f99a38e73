//! Queue of events other than frames. It holds those of one block at most.

use std::collections::VecDeque;

use super::event::SourceEvent;
use railscope_core::model::tap::{Tap, TapId};

/// Taps of all files together: each new section of a pcapng file describes its interfaces anew.
pub(super) const TAPS_LIMIT: usize = 65_536;

/// Events other than frames, and the numbering of taps over all files.
#[derive(Debug)]
pub(super) struct Notices {
    queue: VecDeque<SourceEvent<'static>>,
    taps: u32,
    limit: usize,
}

impl Notices {
    /// For at most `limit` taps.
    pub(super) const fn new(limit: usize) -> Self {
        Self { queue: VecDeque::new(), taps: 0, limit }
    }

    pub(super) fn push(&mut self, event: SourceEvent<'static>) {
        self.queue.push_back(event);
    }

    /// Announces a tap and numbers it; `None` if there are too many.
    pub(super) fn push_tap(&mut self, tap: Tap) -> Option<TapId> {
        let id = TapId(self.taps);
        if self.taps as usize >= self.limit {
            return None;
        }
        self.taps += 1;
        self.push(SourceEvent::Tap(id, tap));
        Some(id)
    }

    /// Taps that were announced.
    pub(super) const fn taps(&self) -> usize {
        self.taps as usize
    }

    /// Events that wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Most taps.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<SourceEvent<'static>> {
        if self.queue.is_empty() { None } else { self.queue.pop_front() }
    }
}
