//! Opening files in folders of many users, of which some may hang.
//!
//! A user's folder may be on a file system of the user's own, which answers late or never. That costs this
//! user's rings, and nobody else's. On a busy machine any folder may answer late once: it is left alone for a
//! second then, and only one that is late again and again for longer.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::ingest::guarded::Guarded;

/// How long opening a file may take.
const OPEN_TIME: Duration = Duration::from_millis(100);

/// For how long nobody looks into a folder that did not answer in time: twice as long each time, within these
/// bounds.
const FIRST_BAR: Duration = Duration::from_secs(1);
const LONGEST_BAR: Duration = Duration::from_mins(1);

/// Users whose folders hang: each of them costs a thread.
const MOST_HANGING: usize = 64;

/// Whose folder it is: a user, and of root a mount namespace, because most containers run as root.
pub(super) type Owner = (u32, String);

/// One thread for all, and one more for each user whose folder hangs.
#[derive(Debug)]
pub(super) struct Opener {
    limit: Duration,
    guard: Option<Guarded>,
    late: BTreeMap<Owner, Late>,
}

/// A folder that did not answer in time.
#[derive(Debug, Default)]
struct Late {
    /// Its thread may still wait. `None` once it has answered.
    guard: Option<Guarded>,
    /// For how long it is left alone, and until when.
    barred: Duration,
    barred_until: Duration,
}

impl Late {
    fn is_stuck(&self) -> bool {
        self.guard.as_ref().is_some_and(Guarded::is_stuck)
    }

    /// Leaves it alone from `now` on, for twice as long as the last time.
    fn bar(&mut self, now: Duration) {
        self.barred = (2 * self.barred).clamp(FIRST_BAR, LONGEST_BAR);
        self.barred_until = now + self.barred;
    }

    /// Whether that was so long ago that nothing is held against it.
    fn is_forgiven(&self, now: Duration) -> bool {
        !self.is_stuck() && now >= self.barred_until + LONGEST_BAR
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Opened<T> {
    Done(io::Result<T>),
    /// It did not answer in time. It is worth another try at `again`.
    Late {
        again: Duration,
    },
    /// It is left alone, because it did not answer before, or too many do not.
    LeftAlone {
        again: Duration,
    },
}

impl Default for Opener {
    fn default() -> Self {
        Self { limit: OPEN_TIME, guard: None, late: BTreeMap::new() }
    }
}

impl Opener {
    /// Does `work`, which opens something in a folder of `owner`, `now` after the start.
    pub(super) fn run<T: Send + 'static>(
        &mut self,
        owner: &Owner,
        now: Duration,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Opened<T> {
        self.late.retain(|_, late| !late.is_forgiven(now));
        if let Some(late) = self.late.get_mut(owner) {
            if late.is_stuck() && late.barred_until <= now {
                late.bar(now);
            }
            if late.barred_until > now {
                return Opened::LeftAlone { again: late.barred_until };
            }
        }
        if self.late.values().filter(|late| late.is_stuck()).count() >= MOST_HANGING {
            return Opened::LeftAlone { again: now + LONGEST_BAR };
        }
        if let Some(late) = self.late.get_mut(owner) {
            late.guard = None;
        }
        let mut guard = self.guard.take().unwrap_or_else(|| Guarded::bounded(self.limit, 1));
        match guard.run(work) {
            Ok(done) => {
                self.guard = Some(guard);
                Opened::Done(done)
            }
            Err(_) => {
                let late = self.late.entry(owner.clone()).or_default();
                late.guard = Some(guard);
                late.bar(now);
                let again = late.barred_until;
                Opened::Late { again }
            }
        }
    }

    /// Forgets users who have no process any more, but for those whose folders hang.
    pub(super) fn forget(&mut self, has_process: impl Fn(&Owner) -> bool) {
        self.late.retain(|owner, late| late.is_stuck() || has_process(owner));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn owner(user: u32) -> Owner {
        (user, String::new())
    }

    #[test]
    fn a_folder_that_hangs_is_left_alone_and_others_are_not() {
        let mut opener = Opener::default();
        let (go_on, until) = channel::<()>();
        let hang = move || until.recv().map_err(io::Error::other);
        let at = Duration::from_secs;
        assert!(matches!(opener.run(&owner(1), at(0), hang), Opened::Late { .. }));
        // It neither waits again nor keeps others waiting.
        let again = opener.run(&owner(1), at(1), || Ok(1));
        assert!(matches!(again, Opened::LeftAlone { .. }), "{again:?}");
        let other = opener.run(&owner(2), at(1), || Ok(2));
        assert!(matches!(other, Opened::Done(Ok(2))), "{other:?}");
        for (second, until) in [(1, 3), (3, 7), (7, 15), (15, 31), (31, 63), (63, 123), (123, 183)]
        {
            let still = opener.run(&owner(1), at(second), || Ok(3));
            let Opened::LeftAlone { again } = still else { panic!("the thread hangs: {still:?}") };
            assert_eq!(again, at(until));
        }
        opener.forget(|_| false);
        assert_eq!(opener.late.len(), 1, "a thread that hangs is not forgotten");
        go_on.send(()).unwrap();
        let goes_on = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !opener.late[&owner(1)].is_stuck()
        });
        assert!(goes_on);
        assert!(matches!(opener.run(&owner(1), at(200), || Ok(4)), Opened::Done(Ok(4))));
        opener.forget(|_| false);
        assert!(opener.late.is_empty());
    }

    /// Whether a folder is late that does not answer until that is known; it has answered afterwards.
    fn is_late(opener: &mut Opener, second: u64) -> bool {
        let (go_on, until) = channel::<()>();
        let hang = move || until.recv().map_err(io::Error::other);
        (opener.limit, opener.guard) = (Duration::from_millis(20), None);
        let opened = opener.run(&owner(1), Duration::from_secs(second), hang);
        drop(go_on);
        let has_answered = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !opener.late[&owner(1)].is_stuck()
        });
        has_answered && matches!(opened, Opened::Late { .. })
    }

    /// Whether it opens, however busy the machine is.
    fn opens(opener: &mut Opener, second: u64) -> bool {
        (opener.limit, opener.guard) = (Duration::from_secs(60), None);
        let opened = opener.run(&owner(1), Duration::from_secs(second), || Ok(()));
        matches!(opened, Opened::Done(Ok(())))
    }

    #[test]
    fn a_folder_that_is_late_again_and_again_is_left_alone_for_longer() {
        let mut opener = Opener::default();
        let (mut second, mut bars) = (10, Vec::new());
        for _ in 0..9 {
            assert!(is_late(&mut opener, second));
            let bar = (0..100).find(|bar| opens(&mut opener, second + bar)).unwrap();
            bars.push(bar);
            second += bar;
        }
        assert_eq!(bars, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        // It begins anew after a minute without.
        assert!(is_late(&mut opener, second + 60));
        assert!(!opens(&mut opener, second + 60) && opens(&mut opener, second + 61));
        assert!(opens(&mut opener, second + 121) && opener.late.is_empty());
    }

    #[test]
    fn threads_that_hang_are_bounded() {
        let mut opener = Opener::default();
        let mut waits = Vec::new();
        for user in 0..MOST_HANGING as u32 {
            let (go_on, until) = channel::<()>();
            waits.push(go_on);
            let hang = move || until.recv().map_err(io::Error::other);
            assert!(matches!(opener.run(&owner(user), Duration::ZERO, hang), Opened::Late { .. }));
        }
        let more = opener.run(&owner(1000), Duration::ZERO, || Ok(()));
        assert!(matches!(more, Opened::LeftAlone { .. }), "{more:?}");
    }
}
