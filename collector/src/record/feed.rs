//! The recording as a live source: the analysis reads the chunks that the writer writes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::capture::Delivery;
use super::queue::Queue;
use super::tally::Tally;
use crate::ingest::live::{LiveEvent, LiveSource};
use railscope_core::model::tap::TapId;

/// Chunks that one poll delivers at most.
const MOST_CHUNKS: usize = 16;

/// Chunks for the analysis.
pub struct Feed {
    queue: Arc<Queue<Delivery>>,
    completeness: Vec<String>,
    tally: Arc<Tally>,
    /// The last poll left nothing.
    is_drained: bool,
}

impl Feed {
    pub(super) fn new(
        queue: Arc<Queue<Delivery>>,
        completeness: Vec<String>,
        tally: Arc<Tally>,
    ) -> Self {
        Self { queue, completeness, tally, is_drained: false }
    }
}

impl LiveSource for Feed {
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        let mut patience = patience;
        self.is_drained = false;
        for _ in 0..MOST_CHUNKS {
            let Some(Delivery { chunk, missed }) = self.queue.pop(patience) else {
                self.is_drained = true;
                break;
            };
            patience = Duration::ZERO;
            let is_tap = |event: &&LiveEvent<'_>| matches!(event, LiveEvent::Tap(_));
            chunk.events.iter().filter(is_tap).for_each(|event| sink(event.clone()));
            for (tap, frames) in missed {
                sink(LiveEvent::Lost { tap, frames });
            }
            for head in chunk.heads() {
                sink(LiveEvent::Frame(chunk.frame(head)));
            }
            chunk
                .events
                .iter()
                .filter(|event| !is_tap(event))
                .for_each(|event| sink(event.clone()));
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.queue.is_over()
    }

    fn is_quiet(&self, _: TapId) -> bool {
        self.is_drained && self.tally.is_quiet()
    }

    fn completeness(&self) -> Vec<String> {
        self.completeness.clone()
    }
}
