//! The thread that sends what is in the queue.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time;

use super::batch::{Batch, Signal};
use super::config::{OtlpConfig, OtlpError};
use super::queue::{Delivery, Queue};
use super::retry::Backoff;
use super::transport::{SendError, Transport};
use railscope_core::metrics::own::ExportFigures;

/// Sends batches from a thread of its own.
///
/// [`send`](Self::send) never waits; what the receiver does not take in time waits in the queue, and
/// where that is full the oldest are dropped and counted.
#[derive(Debug)]
pub struct Exporter {
    queue: Arc<Queue>,
    config: OtlpConfig,
    /// Tells the thread by when to be done.
    end: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts the thread. The receiver need not be there.
    ///
    /// # Errors
    ///
    /// When the thread cannot start, or certificates for https cannot be read.
    pub fn start(config: OtlpConfig) -> Result<Self, OtlpError> {
        let queue = Arc::new(Queue::new(config.queue_bytes));
        let (end, ended) = oneshot::channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let (for_thread, of_thread) = (Arc::clone(&queue), config.clone());
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(OtlpError::Thread)?;
        let work = move || {
            runtime.block_on(async {
                let (transport, outcome) = match Transport::new(&of_thread) {
                    Ok(transport) => (Some(transport), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // Whoever started the thread waits for this.
                let _ = ready.send(outcome);
                if let Some(mut transport) = transport {
                    tokio::select! {
                        () = drain(&for_thread, &mut transport, of_thread.timeout) => {}
                        () = past(ended) => for_thread.abandon(),
                    }
                }
            });
        };
        let thread = thread::Builder::new().name("otlp".to_owned()).spawn(work);
        let thread = thread.map_err(OtlpError::Thread)?;
        // A thread that ended without a word has panicked, which joining it tells.
        is_ready.recv().unwrap_or(Ok(()))?;
        Ok(Self { queue, config, end: Some(end), thread: Some(thread) })
    }

    /// What it was told.
    #[must_use]
    pub const fn config(&self) -> &OtlpConfig {
        &self.config
    }

    /// Puts batches into the queue; those of a signal that goes nowhere are left out.
    pub fn send(&self, batches: impl IntoIterator<Item = Batch>) {
        for batch in batches {
            if self.config.endpoints.of(batch.signal).is_some() {
                self.queue.push(batch);
            }
        }
    }

    /// As [`send`](Self::send), but waits for room in the queue as long as the receiver takes
    /// something within `patience`: for what need not go on meanwhile.
    pub fn send_patiently(&self, batches: impl IntoIterator<Item = Batch>, patience: Duration) {
        for batch in batches {
            if self.config.endpoints.of(batch.signal).is_some() {
                self.queue.wait_for_room(batch.body.len(), patience);
                self.queue.push(batch);
            }
        }
    }

    /// What became of everything that was to be sent, by signal.
    #[must_use]
    pub fn figures(&self) -> [(Signal, ExportFigures); 3] {
        self.queue.figures()
    }

    /// Bytes that wait or are being sent.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// The last trouble, if what came last was trouble.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.queue.trouble()
    }

    /// Sends what is left, for so long at most; what then remains is dropped. What became of
    /// everything, and the last trouble.
    pub fn finish(mut self, within: Duration) -> ([(Signal, ExportFigures); 3], Option<String>) {
        self.end(within);
        (self.queue.figures(), self.queue.trouble())
    }

    fn end(&mut self, within: Duration) {
        self.queue.close();
        if let Some(end) = self.end.take() {
            // A thread that is done does not listen.
            let _ = end.send(within);
        }
        if let Some(thread) = self.thread.take() {
            // Its panic was told when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Exporter {
    /// What was not sent yet is dropped.
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Sends until the queue is closed and empty.
async fn drain(queue: &Queue, transport: &mut Transport, timeout: Duration) {
    while let Some(batch) = queue.next().await {
        let unsent = Unsent { queue, batch: Some(batch) };
        unsent.deliver(transport, timeout).await;
    }
}

/// Ends when the time is over that is given for the rest.
async fn past(ended: oneshot::Receiver<Duration>) {
    match ended.await {
        Ok(within) => time::sleep(within).await,
        Err(_) => std::future::pending().await,
    }
}

/// A batch that was taken out of the queue: counted even if nobody waits for its delivery any more.
struct Unsent<'a> {
    queue: &'a Queue,
    batch: Option<Batch>,
}

impl Unsent<'_> {
    /// Tries until it is taken, or refused for good.
    async fn deliver(mut self, transport: &mut Transport, timeout: Duration) {
        let mut backoff = Backoff::default();
        while let Some(batch) = &self.batch {
            let sent = time::timeout(timeout, transport.send(batch)).await;
            let late = || SendError::Retryable {
                why: format!("no answer for {} within {timeout:?}", batch.signal.name()),
                after: None,
            };
            match sent.unwrap_or_else(|_| Err(late())) {
                Ok(delivery) => self.settle(delivery),
                Err(SendError::Permanent(why)) => self.settle(Delivery::Failed(why)),
                Err(SendError::Retryable { why, after }) => {
                    self.queue.note_trouble(why);
                    tokio::select! {
                        () = backoff.delay(after) => {}
                        () = self.queue.hurried() => backoff = Backoff::default(),
                    }
                }
            }
        }
    }

    fn settle(&mut self, delivery: Delivery) {
        if let Some(batch) = self.batch.take() {
            self.queue.settle(&batch, delivery);
        }
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(batch) = &self.batch {
            self.queue.drop_unsent(batch);
        }
    }
}
