//! Places for clients: a new client never waits for slow ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// Clients at once.
pub(super) const PLACES: usize = 64;

/// Time that a client surely has for its request, and for its whole conversation; beyond it, it makes room
/// for a newer one if all places are taken.
const LEAST_REQUEST: Duration = Duration::from_millis(200);
const LEAST: Duration = Duration::from_secs(2);

/// The clients.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Arc<Mutex<Vec<Client>>>);

#[derive(Debug)]
struct Client {
    number: u64,
    since: Instant,
    is_answered: bool,
    /// Ends its conversation when it is dropped.
    _leave: oneshot::Sender<()>,
}

/// A client's place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    places: Places,
    /// Completes when the client must make room.
    pub(super) left: oneshot::Receiver<()>,
}

impl Places {
    /// A place for a new client; `None` if all are taken by clients that do what they should.
    pub(super) fn take(&self, number: u64) -> Option<Place> {
        let now = now();
        let mut clients = self.held();
        if clients.len() >= PLACES {
            let is_slow = |client: &Client| {
                let least = if client.is_answered { LEAST } else { LEAST_REQUEST };
                now.duration_since(client.since) >= least
            };
            let slow = clients.iter().enumerate().filter(|(_, client)| is_slow(client));
            // Those that have not even asked go first, the oldest of them.
            let (at, _) = slow.min_by_key(|(_, client)| (client.is_answered, client.since))?;
            clients.swap_remove(at);
        }
        let (leave, left) = oneshot::channel();
        clients.push(Client { number, since: now, is_answered: false, _leave: leave });
        Some(Place { number, places: self.clone(), left })
    }

    /// Whether no client is there.
    pub(super) fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    fn held(&self) -> MutexGuard<'_, Vec<Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Its request is here.
    pub(super) fn note_request(places: &Places, number: u64) {
        for client in places.held().iter_mut().filter(|client| client.number == number) {
            client.is_answered = true;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.held().retain(|client| client.number != self.number);
    }
}

#[expect(clippy::disallowed_methods, reason = "clients have limited time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn slow_clients_make_room_and_those_that_ask_stay() {
        let places = Places::default();
        let mut all: Vec<Place> =
            (0..PLACES as u64).map(|number| places.take(number).unwrap()).collect();
        assert!(places.take(1000).is_none(), "all are new");
        thread::sleep(LEAST_REQUEST);
        Place::note_request(&places, 0);
        let new = places.take(1001).unwrap();
        let has_left = |place: &mut Place| {
            let closed = Err(oneshot::error::TryRecvError::Closed);
            (place.left.try_recv() == closed).then_some(place.number)
        };
        let left: Vec<u64> = all.iter_mut().filter_map(has_left).collect();
        assert_eq!(left, [1], "the oldest that has not asked");
        drop((all, new));
        assert!(places.is_empty());
    }
}
