//! Opening files in folders of many users, of which some may hang.
//!
//! A user's folder may be on a file system of the user's own, which answers late or never. That costs this
//! user's rings, and nobody else's.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::ingest::guarded::Guarded;

/// How long opening a file may take.
const OPEN_TIME: Duration = Duration::from_millis(100);

/// For how long nobody looks into a folder that did not answer in time.
const BARRED: Duration = Duration::from_mins(1);

/// Users whose folders hang: each of them costs a thread.
const MOST_HANGING: usize = 64;

/// Whose folder it is: a user, and of root a mount namespace, because most containers run as root.
pub(super) type Owner = (u32, String);

/// One thread for all, and one more for each user whose folder hangs.
#[derive(Debug, Default)]
pub(super) struct Opener {
    guard: Option<Guarded>,
    late: BTreeMap<Owner, Late>,
}

/// A folder that did not answer in time.
#[derive(Debug)]
struct Late {
    /// Its thread may still wait.
    guard: Guarded,
    /// Until when it is left alone.
    barred_until: Duration,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Opened<T> {
    Done(io::Result<T>),
    /// It did not answer in time.
    Late,
    /// It is left alone, because it did not answer before, or too many do not.
    LeftAlone,
}

impl Opener {
    /// Does `work`, which opens something in a folder of `owner`, `now` after the start.
    pub(super) fn run<T: Send + 'static>(
        &mut self,
        owner: &Owner,
        now: Duration,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Opened<T> {
        let is_barred = |late: &Late| late.barred_until > now || late.guard.is_stuck();
        let hanging = self.late.values().filter(|late| late.guard.is_stuck()).count();
        if self.late.get(owner).is_some_and(is_barred) || hanging >= MOST_HANGING {
            return Opened::LeftAlone;
        }
        self.late.remove(owner);
        let mut guard = self.guard.take().unwrap_or_else(|| Guarded::bounded(OPEN_TIME, 1));
        match guard.run(work) {
            Ok(done) => {
                self.guard = Some(guard);
                Opened::Done(done)
            }
            Err(_) => {
                self.late.insert(owner.clone(), Late { guard, barred_until: now + BARRED });
                Opened::Late
            }
        }
    }

    /// Forgets users who have no process any more, but for those whose folders hang.
    pub(super) fn forget(&mut self, has_process: impl Fn(&Owner) -> bool) {
        self.late.retain(|owner, late| late.guard.is_stuck() || has_process(owner));
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
        assert!(matches!(opener.run(&owner(1), at(0), hang), Opened::Late));
        // It neither waits again nor keeps others waiting.
        let again = opener.run(&owner(1), at(1), || Ok(1));
        assert!(matches!(again, Opened::LeftAlone), "{again:?}");
        let other = opener.run(&owner(2), at(1), || Ok(2));
        assert!(matches!(other, Opened::Done(Ok(2))), "{other:?}");
        let still = opener.run(&owner(1), at(61), || Ok(3));
        assert!(matches!(still, Opened::LeftAlone), "the thread still hangs: {still:?}");
        opener.forget(|_| false);
        assert_eq!(opener.late.len(), 1, "a thread that hangs is not forgotten");
        go_on.send(()).unwrap();
        let goes_on = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !opener.late[&owner(1)].guard.is_stuck()
        });
        assert!(goes_on);
        assert!(matches!(opener.run(&owner(1), at(200), || Ok(4)), Opened::Done(Ok(4))));
        opener.forget(|_| false);
        assert!(opener.late.is_empty());
    }

    #[test]
    fn threads_that_hang_are_bounded() {
        let mut opener = Opener::default();
        let mut waits = Vec::new();
        for user in 0..MOST_HANGING as u32 {
            let (go_on, until) = channel::<()>();
            waits.push(go_on);
            let hang = move || until.recv().map_err(io::Error::other);
            assert!(matches!(opener.run(&owner(user), Duration::ZERO, hang), Opened::Late));
        }
        let more = opener.run(&owner(1000), Duration::ZERO, || Ok(()));
        assert!(matches!(more, Opened::LeftAlone), "{more:?}");
    }
}
