//! Passwords of clients. bcrypt takes tens of milliseconds by design, so what was verified is remembered, and
//! all other tries together get a tenth of a core: one at a time, and one client address waits once.

mod budget;
mod credentials;
mod memory;

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::{task, time};

use self::budget::Budget;
pub(super) use self::credentials::Credentials;
use self::memory::Memory;
use super::web_config::Users;

/// Addresses whose tries wait.
const WAITING: usize = 8;

/// Verifies passwords.
#[derive(Debug)]
pub(super) struct Login {
    memory: Mutex<Memory>,
    budget: Mutex<Budget>,
    turn: Arc<Semaphore>,
    waiting: Mutex<Vec<IpAddr>>,
}

/// What became of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Right,
    Wrong,
    /// Too many others wait, or another try of this address does.
    Busy,
}

/// The place of an address among those that wait, until it is dropped.
struct Waiting<'a>(&'a Login, IpAddr);

impl Login {
    pub(super) fn new() -> Self {
        Self {
            memory: Mutex::default(),
            budget: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
            waiting: Mutex::default(),
        }
    }

    /// Whether these credentials are those of a user; without users everybody is right.
    pub(super) async fn check(
        self: &Arc<Self>,
        users: &Users,
        given: Option<Credentials>,
        client: IpAddr,
    ) -> Outcome {
        let Some(given) = given else {
            return if users.is_empty() { Outcome::Right } else { Outcome::Wrong };
        };
        let Some((hash, is_user)) = users.hash(&given.user) else { return Outcome::Right };
        let seal = held(&self.memory).seal(&given, hash);
        let remembered = || held(&self.memory).recall(&seal).map(outcome);
        if let Some(outcome) = remembered() {
            return outcome;
        }
        let Some(_waiting) = self.wait(network(client)) else { return Outcome::Busy };
        let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await else { return Outcome::Busy };
        // A request of the same client may have been first.
        if let Some(outcome) = remembered() {
            return outcome;
        }
        let pause = held(&self.budget).pause();
        time::sleep(pause).await;
        let (login, hash) = (Arc::clone(self), hash.to_owned());
        // It goes on if the client leaves, and must be counted, too.
        let verified = task::spawn_blocking(move || {
            let begun = now();
            let is_right = bcrypt::verify(&given.password, &hash).unwrap_or(false) && is_user;
            held(&login.budget).spend(begun.elapsed());
            held(&login.memory).remember(seal, is_right);
            drop(turn);
            is_right
        });
        verified.await.map_or(Outcome::Busy, outcome)
    }

    fn wait(&self, client: IpAddr) -> Option<Waiting<'_>> {
        let mut waiting = held(&self.waiting);
        if waiting.len() >= WAITING || waiting.contains(&client) {
            return None;
        }
        waiting.push(client);
        Some(Waiting(self, client))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        held(&self.0.waiting).retain(|client| *client != self.1);
    }
}

const fn outcome(is_right: bool) -> Outcome {
    if is_right { Outcome::Right } else { Outcome::Wrong }
}

/// The network of an IPv6 client, which has all of its addresses; else the address.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

fn held<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "tries are limited by the time that they take")]
fn now() -> Instant {
    Instant::now()
}
