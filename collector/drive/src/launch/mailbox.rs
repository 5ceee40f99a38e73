//! Messages through the store: from the ranks of a job on many hosts to rank 0, which shows the
//! table.
//!
//! Each value, at a key that counts up, has some lines as in a [`pipe`](super::pipe).

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::message::{Message, Outlet};
use super::{Ending, Event};
use crate::clock::Deadline;
use crate::store::Client;
use crate::{DriveError, Result};

/// How long messages are batched.
const HOLD: Duration = Duration::from_millis(200);

/// Longest time between two messages of a rank: unlimited, for a job.
const SILENCE: Duration = Duration::from_secs(24 * 3600);

/// A rank's end. It connects with the first message, because the store may not be up before.
#[derive(Debug)]
pub struct StoreOutlet {
    rank: u32,
    from: IpAddr,
    store: SocketAddr,
    patience: Duration,
    client: Option<Client>,
    values: u64,
    lines: Vec<u8>,
    held: Option<Deadline>,
}

impl StoreOutlet {
    /// A mailbox from `from`, an address of this host, to the store. Calls time out after
    /// `patience`.
    #[must_use]
    pub fn new(rank: u32, from: IpAddr, store: SocketAddr, patience: Duration) -> Self {
        let (client, values, lines, held) = (None, 0, Vec::new(), None);
        Self { rank, from, store, patience, client, values, lines, held }
    }

    fn flush(&mut self) -> Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let deadline = Deadline::after(self.patience);
        let client = match self.client.take() {
            Some(client) => client,
            None => Client::connect(self.from, self.store, deadline)?,
        };
        client.set(&key(self.rank, self.values), &self.lines, deadline)?;
        self.client = Some(client);
        self.values += 1;
        self.lines.clear();
        self.held = Some(Deadline::after(HOLD));
        Ok(())
    }
}

impl Outlet for StoreOutlet {
    fn send(&mut self, message: &Message) -> Result<()> {
        let failed = |error: serde_json::Error| DriveError::io("report to rank 0")(error.into());
        serde_json::to_writer(&mut self.lines, message).map_err(failed)?;
        self.lines.push(b'\n');
        let may_wait = self.held.is_some_and(|held| !held.left().is_zero());
        if may_wait { Ok(()) } else { self.flush() }
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()
    }
}

/// Rank 0's end: forwards the messages of `rank` until it ends.
///
/// # Errors
/// The store goes away.
pub fn listen(
    rank: u32,
    (from, store): (IpAddr, SocketAddr),
    patience: Duration,
    events: &Sender<Event>,
) -> Result<()> {
    let client = Client::connect(from, store, Deadline::after(patience))?;
    for value in 0.. {
        let lines = client.get(&key(rank, value), Deadline::after(SILENCE))?;
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let message = serde_json::from_slice(line).map_err(|error| DriveError::Protocol {
                peer: format!("rank {rank}"),
                what: format!("an invalid message: {error}"),
            })?;
            let event = Event::from_message(rank, message);
            let is_end = matches!(event, Event::Ended(..));
            if events.send(event).is_err() || is_end {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn key(rank: u32, value: u64) -> String {
    format!("railscope/said/{rank}/{value}")
}

impl Event {
    /// What a rank's message means to the process that supervises all ranks.
    #[must_use]
    pub fn from_message(rank: u32, message: Message) -> Self {
        match message {
            Message::Finished => Self::Ended(rank, Ending::Finished),
            Message::Failed(failure) => Self::Ended(rank, Ending::Failed(failure)),
            message => Self::Said(rank, message),
        }
    }
}
