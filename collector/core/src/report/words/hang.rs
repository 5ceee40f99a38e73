//! Sentences about jobs that no longer move.

use super::name;
use super::number::{counted, duration};
use super::verdict::inputs;
use crate::analysis::hang::{Contradiction, Motion};

/// What contradicts a cause. `verdict` is the headline of another verdict.
#[must_use]
pub fn contradiction(what: &Contradiction, verdict: &dyn Fn(usize) -> String) -> String {
    match what {
        Contradiction::Verdict(at) => verdict(*at),
        Contradiction::Dump(rank, file) => {
            format!("the process of rank {rank} wrote a flight recorder dump ({file}), so it ran")
        }
        Contradiction::NoDump(ranks) => format!(
            "there is no flight recorder dump of {}: gone, stopped, or not collected",
            name::ranks(ranks)
        ),
        Contradiction::Moving => {
            "in the captures, all communicators move data until the end: were these \
                                  records made at another time?"
                .to_owned()
        }
        Contradiction::LinkUp(port) => {
            format!(
                "counters of {port}: its link did not go down; a filter or a switch may drop packets"
            )
        }
    }
}

/// What was read of one source: `2 captures`, `counters of 2 NICs`.
#[must_use]
pub fn read(source: &str, count: usize) -> String {
    let count = count as u64;
    match source {
        "counters" => format!("counters of {}", counted(count, "NIC")),
        "logs" => counted(count, "log"),
        "flight_recorder" => counted(count, "flight recorder dump"),
        "ras" => counted(count, "RAS answer"),
        _ => counted(count, "capture"),
    }
}

/// The first line where nothing hangs. `rests_ns` has the times without data at the end, in nanoseconds, of the
/// communicators that had none for `after_ns` or longer.
#[must_use]
pub fn nothing_hangs(communicators: usize, rests_ns: &[u64], after_ns: u64, read: &str) -> String {
    let all = counted(communicators as u64, "communicator");
    let Some(longest_ns) = rests_ns.iter().max() else {
        let last = duration(after_ns);
        return format!("nothing hangs: {all} moved data in the last {last}; read: {read}");
    };
    let (length, count) = (duration(*longest_ns), rests_ns.len());
    let rested = match count {
        _ if count < communicators => {
            format!("{count} of {all} moved no data at the end, for up to {length}")
        }
        1 => format!("{all} moved no data for the last {length}"),
        _ => format!("{all} moved no data at the end, for up to {length}"),
    };
    format!(
        "nothing hangs in a collective, but {rested}: if that is neither the end of the job nor a pause, all \
         its ranks are stuck outside NCCL, as in storage or the data loader (`py-spy dump`); read: {read}"
    )
}

/// The first line where that cannot be said.
#[must_use]
pub fn unknown(why: &str) -> String {
    format!("not enough was read to say that nothing hangs; {why}")
}

/// Why it cannot be said: there are no packets. `true` for what was read.
#[must_use]
pub fn no_packets(logs: bool, counters: bool, records: bool, outputs: bool) -> String {
    let read = inputs(logs, counters, records, outputs);
    format!("nothing in the {read} shows a job that stopped, and there are no packets")
}

/// Why it cannot be said: data of no communicator was seen.
pub const NO_DATA: &str = "no data of an NCCL communicator";

/// Why it cannot be said: data goes over TCP.
pub const SOCKETS: &str =
    "data goes over TCP (NET/Socket), where a stall cannot be distinguished from a pause";

/// Why it cannot be said: a communicator was in a collective at the end of what was read, too soon after its last
/// data. A hang takes `after_ns` nanoseconds.
#[must_use]
pub fn too_short(communicator: &str, motion: &Motion, after_ns: u64) -> String {
    format!(
        "communicator {communicator} was in a collective at the end of what was read, {} after its last \
         data; a hang needs {} without data, and 5 times its longest rest",
        duration(motion.silence_ns),
        duration(after_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::nothing_hangs;

    #[test]
    fn a_job_that_rests_is_not_said_to_move() {
        let said =
            |all: usize, rests: &[u64]| nothing_hangs(all, rests, 1_000_000_000, "1 capture");
        assert_eq!(
            said(2, &[]),
            "nothing hangs: 2 communicators moved data in the last 1.00 s; read: 1 capture"
        );
        for (all, rests, words) in [
            (1, &[600_000_000_000][..], "1 communicator moved no data for the last 10 min"),
            (3, &[2_000_000_000][..], "1 of 3 communicators moved no data at the end, for up to 2"),
        ] {
            assert!(said(all, rests).contains(words), "{}", said(all, rests));
        }
    }
}
