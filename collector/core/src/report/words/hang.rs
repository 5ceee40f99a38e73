//! Sentences about jobs that no longer move.

use super::name;
use super::number::{counted, duration};
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

/// The first line where nothing hangs, of so many communicators that moved; `rest_ns` is the longest time without
/// data at the end, if it is long.
#[must_use]
pub fn nothing_hangs(communicators: usize, rest_ns: Option<u64>, read: &str) -> String {
    let communicators = counted(communicators as u64, "communicator");
    match rest_ns {
        None => format!("nothing hangs: {communicators} moved until the end; read: {read}"),
        Some(rest_ns) => format!(
            "nothing hangs in a collective: {communicators} ended or rests, no data for the last {}; if the \
             job has not ended and does not pause, all its ranks are stuck outside NCCL, as in storage or the \
             data loader: `py-spy dump`; read: {read}",
            duration(rest_ns)
        ),
    }
}

/// The first line where that cannot be said.
#[must_use]
pub fn unknown(why: &str) -> String {
    format!("not enough was read to say that nothing hangs; {why}")
}

/// Why it cannot be said: data of no communicator was seen.
pub const NO_DATA: &str = "no data of an NCCL communicator";

/// Why it cannot be said: data goes over TCP.
pub const SOCKETS: &str =
    "data goes over TCP (NET/Socket), where a stall cannot be distinguished from a pause";

/// Why it cannot be said: a communicator was in a collective when the captures ended.
#[must_use]
pub fn too_short(communicator: &str, motion: &Motion) -> String {
    format!(
        "communicator {communicator} was in a collective when its captures ended, {} after its last \
         data; a hang needs 1 s without data, and 5 times its longest rest",
        duration(motion.silence_ns)
    )
}
