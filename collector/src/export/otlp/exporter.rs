//! The thread that sends the queue.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time;

use super::batch::{Batch, Signal};
use super::config::OtlpConfig;
use super::error::{OtlpError, SendError};
use super::queue::{Delivery, Queue};
use super::retry::Backoff;
use super::transport::Transport;
use railscope_core::metrics::own::ExportFigures;

/// Sends batches from a separate thread.
///
/// [`send`](Self::send) never waits; batches wait in the queue for the receiver, and if it is full the
/// oldest are dropped and counted.
#[derive(Debug)]
pub struct Exporter {
    queue: Arc<Queue>,
    config: OtlpConfig,
    /// Sends the thread its deadline.
    end: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts the thread. The receiver may be absent.
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
                // The starting thread waits for this.
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
        // A thread that ended without a message has panicked; joining it returns the error.
        is_ready.recv().unwrap_or(Ok(()))?;
        Ok(Self { queue, config, end: Some(end), thread: Some(thread) })
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &OtlpConfig {
        &self.config
    }

    /// Puts batches into the queue, except those of a signal without an endpoint.
    pub fn send(&self, batches: impl IntoIterator<Item = Batch>) {
        for batch in batches {
            if self.config.endpoints.get(batch.signal).is_some() {
                self.queue.push(batch);
            }
        }
    }

    /// Like [`send`](Self::send), but waits for space in the queue as long as the receiver accepts a batch
    /// within `patience`: for callers that may block.
    pub fn send_patiently(&self, batches: impl IntoIterator<Item = Batch>, patience: Duration) {
        for batch in batches {
            if self.config.endpoints.get(batch.signal).is_some() {
                self.queue.wait_for_room(batch.body.len(), patience);
                self.queue.push(batch);
            }
        }
    }

    /// Results of all batches, by signal.
    #[must_use]
    pub fn figures(&self) -> [(Signal, ExportFigures); 3] {
        self.queue.figures()
    }

    /// Bytes queued or being sent.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// The latest error, if the latest result was an error.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.queue.trouble()
    }

    /// Sends the rest of the queue, for at most this time, and drops what remains. Returns the results and
    /// the latest error.
    pub fn finish(mut self, within: Duration) -> ([(Signal, ExportFigures); 3], Option<String>) {
        self.end(within);
        (self.queue.figures(), self.queue.trouble())
    }

    fn end(&mut self, within: Duration) {
        self.queue.close();
        if let Some(end) = self.end.take() {
            // A thread that has ended does not receive.
            let _ = end.send(within);
        }
        if let Some(thread) = self.thread.take() {
            // Its panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Exporter {
    /// Drops unsent batches.
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

/// Returns at the deadline for the rest of the queue.
async fn past(ended: oneshot::Receiver<Duration>) {
    match ended.await {
        Ok(within) => time::sleep(within).await,
        Err(_) => std::future::pending().await,
    }
}

/// A batch taken from the queue: it is counted even if its delivery is no longer awaited.
struct Unsent<'a> {
    queue: &'a Queue,
    batch: Option<Batch>,
}

impl Unsent<'_> {
    /// Retries until the batch is accepted or permanently rejected.
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
