//! Before the rounds: waiting for the other hosts.

use std::time::{Duration, Instant};

use super::clock::now;
use super::session::{Session, bit};

/// How long a host that runs may take to connect, both ways.
const GRACE: Duration = Duration::from_secs(5);

/// How often the state is looked at without events.
const LOOK: Duration = Duration::from_millis(200);

/// After how long it is said who is missing.
const SILENCE: Duration = Duration::from_secs(3);

/// Waits for all hosts, until `wait` has passed. Says who is waited for.
pub(super) fn wait_for_all(session: &mut Session, wait: Duration, say: &mut dyn FnMut(String)) {
    let began = now();
    let deadline = began + wait;
    let mut is_said = false;
    loop {
        note_signs(session);
        let missing: Vec<usize> =
            session.others().filter(|&host| !is_settled(session, host)).collect();
        if missing.is_empty() || now() >= deadline {
            return;
        }
        if !is_said && began.elapsed() >= SILENCE {
            is_said = true;
            say(words(session, &missing, wait));
        }
        session.poll(deadline.min(now() + LOOK));
    }
}

/// A host that others are connected to runs.
fn note_signs(session: &mut Session) {
    for host in session.others() {
        let is_seen = session.seen & bit(host) != 0;
        if let Some(peer) = session.peers.get_mut(host).filter(|_| is_seen) {
            peer.sign.get_or_insert_with(now);
        }
    }
}

/// Whether waiting for a host is over: connected both ways, or it runs and had its time.
fn is_settled(session: &Session, host: usize) -> bool {
    let Some(peer) = session.peers.get(host) else { return true };
    let is_connected = peer.out.is_some() && peer.inward.is_some();
    is_connected || peer.sign.is_some_and(|sign: Instant| sign.elapsed() >= GRACE)
}

fn words(session: &Session, missing: &[usize], wait: Duration) -> String {
    let names: Vec<String> = missing
        .iter()
        .map(|&host| {
            let failure = session.peers.get(host).and_then(|peer| peer.failure.as_deref());
            let name = session.name(host);
            failure.map_or_else(|| name.to_owned(), |failure| format!("{name} ({failure})"))
        })
        .collect();
    format!("waiting up to {} s for {}", wait.as_secs(), names.join(", "))
}
