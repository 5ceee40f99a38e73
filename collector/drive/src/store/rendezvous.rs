//! How the ranks of a PyTorch job meet in the store, key by key (`TCPStore.cpp`,
//! `ProcessGroupNCCL.cpp`, `distributed_c10d.py`).

use std::time::Duration;

use super::Client;
use crate::clock::Deadline;
use crate::wire::UniqueId;
use crate::{DriveError, Result};

/// Key of the unique id of the default process group's first communicator.
pub const UNIQUE_ID_KEY: &str = "/default_pg/0//cuda//0";

/// Every rank adds 1 to this key on arrival.
pub const ARRIVALS_KEY: &str = "init/";

/// Interval at which the serving rank counts arrivals.
const COUNT_EVERY: Duration = Duration::from_millis(10);

/// Time limit for requests to a store in this process.
const SERVED_HERE: Duration = Duration::from_secs(5);

/// Registers this rank's arrival. The rank that serves the store waits for all `ranks`.
///
/// # Errors
/// Ranks are missing, or the store goes away.
pub fn arrive(store: &Client, ranks: u32, is_server: bool, deadline: Deadline) -> Result<()> {
    store.add(ARRIVALS_KEY, 1, deadline)?;
    if is_server { count(store, ranks, deadline) } else { Ok(()) }
}

/// Waits until all `ranks` have arrived.
fn count(store: &Client, ranks: u32, deadline: Deadline) -> Result<()> {
    loop {
        // The store is in this process, so the key exists at once; only ranks can be late.
        let value = store.get(ARRIVALS_KEY, Deadline::after(SERVED_HERE))?;
        let arrived = str::from_utf8(&value).ok().and_then(|digits| digits.parse().ok());
        let missing = ranks.saturating_sub(arrived.unwrap_or(0));
        if missing == 0 {
            return Ok(());
        }
        deadline.check(|| format!("{missing} of {ranks} ranks to the store"))?;
        std::thread::sleep(COUNT_EVERY);
    }
}

/// Key of the unique id of the `group`th process group after the default one.
#[must_use]
pub fn group_key(group: usize) -> String {
    format!("/default_pg/{group}//cuda//0")
}

/// Publishes the unique id under `key`; called by the communicator's rank 0.
///
/// # Errors
/// The store goes away.
pub fn publish(store: &Client, key: &str, id: &UniqueId, deadline: Deadline) -> Result<()> {
    store.set(key, &id.0, deadline)
}

/// The unique id that rank 0 published under `key`.
///
/// # Errors
/// It does not arrive, or is invalid.
pub fn look_up(store: &Client, key: &str, deadline: Deadline) -> Result<UniqueId> {
    let value = store.get(key, deadline)?;
    UniqueId::parse(&value).map_err(|what| {
        let (_, peer) = store.stream();
        DriveError::Protocol { peer: peer.to_owned(), what }
    })
}

/// Waits until all `ranks` have reached the barrier `name`: PyTorch's `_store_based_barrier`. Calls
/// `alive` from time to time, whose error ends the wait.
///
/// # Errors
/// Ranks are missing, the store goes away, or the error of `alive`.
pub fn barrier(
    store: &Client,
    name: &str,
    ranks: u32,
    deadline: Deadline,
    alive: impl Fn() -> Result<()>,
) -> Result<()> {
    let key = format!("/default_pg/0/store_based_barrier_key:{name}");
    let last = format!("{key}:last_worker");
    if store.add(&key, 1, deadline)? == i64::from(ranks) {
        store.set(&last, b"1", deadline)?;
    }
    store.wait(&[&last], deadline, alive)
}
