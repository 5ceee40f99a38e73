//! PyTorch's watchdog of collectives (`ProcessGroupNCCL`, PyTorch 1.8 to 2.9).
//!
//! ```text
//! [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE,
//!     NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600031 milliseconds before timing out.
//! [PG 1 Rank 3] ... at work: 41, last enqueued NCCL work: 44, last completed NCCL work: 40.
//! [PG ID 1 PG GUID 5(tp) Rank 3] failure detected by watchdog at work sequence id: 41 PG status:
//!     last enqueued work: 44, last completed work: 40
//! ```

use std::str::FromStr;

/// A line of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogLine<'a> {
    /// The process group, if named.
    pub group: Option<&'a str>,
    /// Rank in that group.
    pub rank: Option<u32>,
    /// What it says.
    pub event: WatchdogEvent<'a>,
}

/// What the watchdog says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogEvent<'a> {
    /// A collective was not done in time.
    Timeout {
        /// Its number in the group (PyTorch 1.13 and later).
        number: Option<u64>,
        /// `ALLREDUCE`.
        call: &'a str,
        /// Elements of its input.
        elements: Option<u64>,
        /// How long it may run, in milliseconds.
        limit_ms: Option<u64>,
        /// How long it ran, in milliseconds.
        ran_ms: Option<u64>,
    },
    /// How far the rank had come.
    Progress {
        /// The collective that failed.
        failed: Option<u64>,
        /// The last one that it had enqueued.
        enqueued: Option<u64>,
        /// The last one that was complete.
        completed: Option<u64>,
    },
}

impl<'a> WatchdogLine<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let event = WatchdogEvent::read(text)?;
        // A line that reports the thread's end quotes the time-out behind its own prefix, again with
        // the rank.
        let at = text.find("] Process group watchdog thread").or_else(|| text.rfind("Rank "));
        let at = at.and_then(|end| text.get(..end.saturating_add(5))?.rfind("Rank "));
        let (head, rank) = match at {
            Some(at) => (text.get(..at)?, leading(text.get(at..)?.strip_prefix("Rank ")?)),
            None => (text, rank_of_launcher(text)),
        };
        Some(Self { group: group(head), rank: rank.or_else(|| rank_of_launcher(text)), event })
    }
}

impl<'a> WatchdogEvent<'a> {
    fn read(text: &'a str) -> Option<Self> {
        if let Some((_, work)) = text.split_once("caught collective operation timeout: WorkNCCL(") {
            let ran = text.split_once(" ran for ").and_then(|(_, rest)| leading(rest));
            return Some(Self::Timeout {
                number: assigned(work, "SeqNum="),
                call: work.split_once("OpType=")?.1.split([',', ')']).next()?,
                elements: assigned(work, "NumelIn="),
                limit_ms: assigned(work, "Timeout(ms)="),
                ran_ms: ran,
            });
        }
        let after =
            |names: &[&str]| names.iter().find_map(|name| leading(text.split_once(name)?.1));
        let enqueued = after(&["last enqueued NCCL work: ", "last enqueued work: "]);
        let completed = after(&["last completed NCCL work: ", "last completed work: "]);
        let failed = after(&["at work sequence id: ", "at work: ", "Timeout at NCCL work: "]);
        (enqueued.is_some() || completed.is_some()).then_some(Self::Progress {
            failed,
            enqueued,
            completed,
        })
    }
}

/// The group of `[PG 1 `, `[PG ID 1 PG GUID 5(tp) `.
fn group(head: &str) -> Option<&str> {
    let (_, group) = head.rsplit_once("[PG ")?;
    let group = group.trim();
    Some(group.split_once("PG GUID ").map_or(group, |(_, name)| name))
}

/// `[rank3]:` before the line.
#[must_use]
pub fn rank_of_launcher(text: &str) -> Option<u32> {
    leading(text.split_once("[rank")?.1)
}

fn assigned<T: FromStr>(text: &str, key: &str) -> Option<T> {
    leading(text.split_once(key)?.1)
}

fn leading<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts() {
        let old = "[E ProcessGroupNCCL.cpp:474] [Rank 3] Watchdog caught collective operation \
                   timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for \
                   1800111 milliseconds before timing out.";
        let line = WatchdogLine::read(old).unwrap();
        assert_eq!((line.group, line.rank), (None, Some(3)));
        let expected = WatchdogEvent::Timeout {
            number: Some(41),
            call: "ALLREDUCE",
            elements: None,
            limit_ms: Some(1_800_000),
            ran_ms: Some(1_800_111),
        };
        assert_eq!(line.event, expected);
        let older = "[Rank 1] Watchdog caught collective operation timeout: \
                     WorkNCCL(OpType=BROADCAST, TensorShape=[1], Timeout(ms)=1800000)";
        let line = WatchdogLine::read(older).unwrap();
        assert!(matches!(
            line.event,
            WatchdogEvent::Timeout { number: None, call: "BROADCAST", ran_ms: None, .. }
        ));
    }

    #[test]
    fn progress() {
        let progress = |text| {
            let line = WatchdogLine::read(text).unwrap();
            let WatchdogEvent::Progress { failed, enqueued, completed } = line.event else {
                panic!("{line:?}")
            };
            (line.group, line.rank, failed, enqueued, completed)
        };
        let text = "[rank2]:[E7 x.cpp:1] [PG ID 1 PG GUID 5(tp) Rank 2]  failure detected by \
                    watchdog at work sequence id: 1 PG status: last enqueued work: 547, last \
                    completed work: 0";
        assert_eq!(progress(text), (Some("5(tp)"), Some(2), Some(1), Some(547), Some(0)));
        let text = "[rank0]:[E3 x.cpp:1] [PG 1 Rank 0] Exception (either an error or timeout) \
                    detected by watchdog at work: 4, last enqueued NCCL work: 5, last completed \
                    NCCL work: 3.";
        assert_eq!(progress(text), (Some("1"), Some(0), Some(4), Some(5), Some(3)));
        assert_eq!(WatchdogLine::read("[rank0]: loss 3.1"), None);
    }

    #[test]
    fn the_end_of_the_thread_quotes_the_timeout() {
        let text = "[rank5]:[E9 x.cpp:1899] [PG ID 0 PG GUID 0(default_pg) Rank 5] Process group \
                    watchdog thread terminated with exception: [Rank 5] Watchdog caught collective \
                    operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, \
                    Timeout(ms)=600000) ran for 600051 milliseconds before timing out.";
        let line = WatchdogLine::read(text).unwrap();
        assert_eq!((line.group, line.rank), (Some("0(default_pg)"), Some(5)));
    }
}
