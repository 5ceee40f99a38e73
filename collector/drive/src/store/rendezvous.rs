//! How the ranks of a PyTorch job meet in the store, key by key (`TCPStore.cpp`,
//! `ProcessGroupNCCL.cpp`, `distributed_c10d.py`).

use std::time::Duration;

use super::Client;
use crate::clock::Deadline;
use crate::wire::UniqueId;
use crate::{DriveError, Result};

/// Where the default process group's first communicator has its unique id.
pub const UNIQUE_ID_KEY: &str = "/default_pg/0//cuda//0";

/// What every rank adds 1 to when it has come.
pub const ARRIVALS_KEY: &str = "init/";

/// How often the serving rank counts who has come.
const COUNT_EVERY: Duration = Duration::from_millis(10);

/// How long this process may take to answer itself.
const SERVED_HERE: Duration = Duration::from_secs(5);

/// Tells the store that this rank has come. The rank that serves the store waits for all `ranks`.
///
/// # Errors
/// Ranks are missing, or the store goes away.
pub fn arrive(store: &Client, ranks: u32, is_server: bool, deadline: Deadline) -> Result<()> {
    store.add(ARRIVALS_KEY, 1, deadline)?;
    if is_server { count(store, ranks, deadline) } else { Ok(()) }
}

/// Waits until all `ranks` have come.
fn count(store: &Client, ranks: u32, deadline: Deadline) -> Result<()> {
    loop {
        // Served here, so the key itself comes at once: what is late is a rank.
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

/// Publishes the unique id; rank 0 does.
///
/// # Errors
/// The store goes away.
pub fn publish(store: &Client, id: &UniqueId, deadline: Deadline) -> Result<()> {
    store.set(UNIQUE_ID_KEY, &id.0, deadline)
}

/// The unique id that rank 0 has published.
///
/// # Errors
/// It does not come, or is none.
pub fn look_up(store: &Client, deadline: Deadline) -> Result<UniqueId> {
    let value = store.get(UNIQUE_ID_KEY, deadline)?;
    UniqueId::parse(&value).map_err(|what| {
        let (_, peer) = store.stream();
        DriveError::Protocol { peer: peer.to_owned(), what }
    })
}

/// Waits until all `ranks` have come to the barrier `name`: PyTorch's `_store_based_barrier`. Asks
/// `alive` from time to time whether that makes sense.
///
/// # Errors
/// Ranks do not come, the store goes away, or what `alive` says.
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
