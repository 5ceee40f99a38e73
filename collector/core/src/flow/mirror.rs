//! Mirror sessions: frames lost by a switch's ERSPAN session, from its sequence numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::address::HostAddress;
use crate::model::tap::TapId;

/// Most sessions; frames of further ones are counted but not checked.
const CAPACITY: usize = 1024;

/// A jump this large is a restart of the session rather than a loss.
const RESTART: u32 = 1 << 20;

/// Identifies a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey {
    /// The observation point.
    pub tap: TapId,
    /// The switch: source address of the outermost mirror header. Session numbers repeat across
    /// switches.
    pub switch: Option<HostAddress>,
    /// The ERSPAN session number, 10 bits.
    pub session: u16,
}

/// State of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Sequence numbers that never arrived.
    pub lost_frames: u64,
    next: Option<u32>,
}

/// The sessions of all taps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MirrorSessions {
    sessions: BTreeMap<SessionKey, Session>,
    unchecked: u64,
}

impl MirrorSessions {
    /// Processes the ERSPAN header of a frame.
    pub fn observe(&mut self, key: SessionKey, sequence: Option<u32>) {
        if self.sessions.len() >= CAPACITY && !self.sessions.contains_key(&key) {
            self.unchecked += 1;
            return;
        }
        let session = self.sessions.entry(key).or_default();
        let Some(sequence) = sequence else { return };
        let skipped = session.next.map_or(0, |next| sequence.wrapping_sub(next));
        if skipped < RESTART {
            session.lost_frames += u64::from(skipped);
            session.next = Some(sequence.wrapping_add(1));
        } else if skipped > RESTART.wrapping_neg() {
            // A late frame, counted as lost when its number was skipped.
            session.lost_frames = session.lost_frames.saturating_sub(1);
        } else {
            session.next = Some(sequence.wrapping_add(1));
        }
    }

    /// The sessions in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionKey, &Session)> {
        self.sessions.iter()
    }

    /// Frames that the sessions of a tap lost.
    #[must_use]
    pub fn lost_frames(&self, tap: TapId) -> u64 {
        let sessions = self.sessions.iter().filter(|(key, _)| key.tap == tap);
        sessions.map(|(_, session)| session.lost_frames).sum()
    }

    /// Frames of sessions that did not fit.
    #[must_use]
    pub const fn unchecked(&self) -> u64 {
        self.unchecked
    }

    /// Takes over the sessions of `other`, whose tap n is `taps[n]` here.
    pub(super) fn join(&mut self, other: Self, taps: &[TapId]) {
        let sessions = other.sessions.into_iter();
        self.sessions.extend(
            sessions
                .map(|(key, session)| (SessionKey { tap: key.tap.among(taps), ..key }, session)),
        );
        self.unchecked += other.unchecked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(sequence: &[u32]) -> u64 {
        let key = SessionKey { tap: TapId(0), switch: None, session: 1 };
        let mut sessions = MirrorSessions::default();
        for number in sequence {
            sessions.observe(key, Some(*number));
        }
        sessions.iter().next().unwrap().1.lost_frames
    }

    #[test]
    fn gaps_are_lost_frames_and_late_frames_are_not() {
        assert_eq!(lost(&[5, 6, 9, 10]), 2);
        assert_eq!(lost(&[5, 7, 6, 8]), 0);
        assert_eq!(lost(&[u32::MAX, 1]), 1);
        assert_eq!(lost(&[5_000_000, 3, 4]), 0, "a session that starts again lost nothing");
    }

    #[test]
    fn the_same_session_number_of_two_switches_is_two_sessions() {
        let mut sessions = MirrorSessions::default();
        for number in 0..10 {
            for (switch, start) in [("192.0.2.1", 500_000), ("192.0.2.2", 1_000)] {
                let switch = switch.parse::<std::net::IpAddr>().ok().map(HostAddress::from);
                let key = SessionKey { tap: TapId(0), switch, session: 1 };
                sessions.observe(key, Some(start + number));
            }
        }
        let lost: Vec<_> = sessions.iter().map(|(_, session)| session.lost_frames).collect();
        assert_eq!(lost, [0, 0]);
    }
}
