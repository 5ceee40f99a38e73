//! Sentences about stragglers: their evidence and causes.

use super::number::{counted, rounded_duration as duration};
use crate::analysis::straggler::Cause;
use crate::analysis::straggler::sign::SignKind;

/// The evidence in words.
#[must_use]
pub fn sign(kind: &SignKind) -> String {
    match *kind {
        SignKind::StartWait { rank, own_ns, others_ns } => format!(
            "rank {rank} started sending {} after it could have (receive buffers offered, previous \
             collective done); other ranks: {} (median)",
            duration(own_ns),
            duration(others_ns)
        ),
        SignKind::BusyTime { own_ns, others_ns } => format!(
            "{} from its last data of the previous collective to its first of this one; other \
             ranks: {} (median)",
            duration(own_ns),
            duration(others_ns)
        ),
        SignKind::FirstClearToSend { rank, own_ns, others_ns, is_late } => format!(
            "rank {rank} posted its first clear-to-send {} after the previous collective; other \
             ranks: {} (median); {}",
            duration(own_ns),
            duration(others_ns),
            if is_late { "the call was late" } else { "the call was on time" }
        ),
        SignKind::StallIndex { rank, stopped, connections, mean_ns } => format!(
            "{stopped} of {connections} stalled connections, {} on average, stopped where rank \
             {rank}'s data or receive buffers came next",
            duration(mean_ns)
        ),
        SignKind::Recovery { sender, receiver, recovery_ns, delay_ns, resent } => format!(
            "connection rank {sender} → rank {receiver}: recovery took {}, delayed data by {}; {}",
            duration(recovery_ns),
            duration(delay_ns),
            counted(resent, "retransmission")
        ),
        SignKind::Rate { sender, receiver, data_ns, usual_ns, marks, cnps } => {
            let count = |count: Option<u64>| count.map_or("unknown".to_owned(), |n| n.to_string());
            format!(
                "connection rank {sender} → rank {receiver}: data took {}; the same number of bytes \
                 without CE marks took {}; CE marks: {}, CNPs: {}",
                duration(data_ns),
                duration(usual_ns),
                count(marks),
                count(cnps)
            )
        }
        SignKind::Paused { sender, receiver, paused_ns, is_seen } => format!(
            "connection rank {sender} → rank {receiver}: its sender was paused for {} while it had data \
             to send, by {}",
            duration(paused_ns),
            if is_seen { "pause frames on its link" } else { "the counters of its NIC" }
        ),
        SignKind::OverTcp { sender, receiver, data_ns, others_ns } => format!(
            "connection rank {sender} → rank {receiver}: data took {} over TCP; the same number of bytes \
             took {} on the connections of other ranks (median)",
            duration(data_ns),
            duration(others_ns)
        ),
        SignKind::Refill { rank, own_ns, others_ns } => format!(
            "rank {rank} offered each receive buffer again {} after the data had arrived; other \
             ranks: {} (medians over the collective)",
            duration(own_ns),
            duration(others_ns)
        ),
        SignKind::Persistent { rank, usual_ns, late, of } => format!(
            "rank {rank} was late by {} (median) in {late} of the {of} surrounding training steps",
            duration(usual_ns)
        ),
    }
}

/// A cause in words: whose side it was, and what happened.
#[derive(Clone, Copy, Debug)]
pub struct CauseWords {
    /// For a table: `fabric: packet loss`.
    pub side: &'static str,
    /// For a sentence about the rank: `packets were lost on its path`.
    pub clause: &'static str,
}

/// What cost time, for a sentence: `rank 2's late call`.
#[must_use]
pub fn costing(cause: Cause, rank: u32) -> String {
    match cause {
        Cause::Enqueue => format!("rank {rank}'s late call"),
        Cause::Compute => format!("rank {rank}'s late GPU or host"),
        Cause::Sender => format!("rank {rank}'s late sending"),
        Cause::Receiver => format!("rank {rank}'s slow receiving"),
        Cause::Congestion => format!("congestion on the way from rank {rank}"),
        Cause::Loss => format!("packet loss at rank {rank}"),
        Cause::Pause => format!("pause at rank {rank}"),
        Cause::Socket => format!("slow TCP from rank {rank}"),
        Cause::Unknown => format!("rank {rank}"),
    }
}

/// The words for `cause`.
#[must_use]
pub const fn cause(cause: Cause) -> CauseWords {
    let (side, clause) = match cause {
        Cause::Enqueue => ("sender: CPU called NCCL late", "its CPU called NCCL late"),
        Cause::Compute => (
            "sender: GPU or host late",
            "its GPU was late or its host delayed the data; NCCL was called on time",
        ),
        Cause::Sender => {
            ("sender: CPU or GPU late", "it sent late; unknown whether because of CPU or GPU")
        }
        Cause::Receiver => ("receiver: accepts data slowly", "it accepted data slowly"),
        Cause::Congestion => ("fabric: congestion (ECN)", "its path was congested"),
        Cause::Loss => ("fabric: packet loss", "packets were lost on its path"),
        Cause::Pause => ("fabric: pause (PFC)", "pause frames stopped it"),
        Cause::Socket => ("fabric: slow path over TCP", "its data went over TCP and took long"),
        Cause::Unknown => ("unknown", "cause unknown"),
    };
    CauseWords { side, clause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_tap_saw_are_unknown() {
        let (data_ns, usual_ns) = (31_234_567, 999);
        let rate = SignKind::Rate {
            sender: 1,
            receiver: 2,
            data_ns,
            usual_ns,
            marks: Some(7),
            cnps: None,
        };
        assert_eq!(
            sign(&rate),
            "connection rank 1 → rank 2: data took 31.2 ms; the same number of bytes without CE \
             marks took 999 ns; CE marks: 7, CNPs: unknown"
        );
    }
}
