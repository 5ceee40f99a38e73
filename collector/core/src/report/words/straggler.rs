//! What is said of stragglers: the signs that name them, and why they were late.

use super::number::rounded_duration as duration;
use crate::analysis::straggler::Cause;
use crate::analysis::straggler::sign::SignKind;

/// What a sign says.
#[must_use]
pub fn sign(kind: &SignKind) -> String {
    match *kind {
        SignKind::StartWait { rank, own_ns, others_ns } => format!(
            "rank {rank} could have sent {} before it did: it had room and was done with the \
             collective before; the other ranks {} (median)",
            duration(own_ns),
            duration(others_ns)
        ),
        SignKind::BusyTime { own_ns, others_ns } => format!(
            "from its last data of the collective before to its first of this one it took {}; \
             the other ranks {} (median)",
            duration(own_ns),
            duration(others_ns)
        ),
        SignKind::FirstClearToSend { rank, own_ns, others_ns, is_late } => format!(
            "rank {rank} posted its first clear-to-send {} after the collective before, the other \
             ranks {} (median): {}",
            duration(own_ns),
            duration(others_ns),
            if is_late { "it was called late" } else { "it was called in time" }
        ),
        SignKind::StallIndex { rank, stopped, connections, mean_ns } => format!(
            "{stopped} of {connections} connections stopped, for {} on average, where rank \
             {rank}'s data or room would have been next",
            duration(mean_ns)
        ),
        SignKind::Recovery { sender, receiver, recovery_ns, delay_ns, resent } => format!(
            "recovery took {} on a connection from rank {sender} to rank {receiver}, and held data \
             up by {}; packets sent again: {resent}",
            duration(recovery_ns),
            duration(delay_ns)
        ),
        SignKind::Rate { sender, receiver, data_ns, usual_ns, marks, cnps } => {
            let count = |count: Option<u64>| count.map_or("unknown".to_owned(), |n| n.to_string());
            format!(
                "data took {} on a connection from rank {sender} to rank {receiver}, and {} for as \
                 many bytes while nothing was marked; CE marks: {}, CNPs: {}",
                duration(data_ns),
                duration(usual_ns),
                count(marks),
                count(cnps)
            )
        }
        SignKind::Refill { rank, own_ns, others_ns } => format!(
            "rank {rank} offered room again {} after it had data to take; the other ranks {} \
             (medians over the collective)",
            duration(own_ns),
            duration(others_ns)
        ),
        SignKind::Persistent { rank, usual_ns, late, of } => format!(
            "rank {rank} was late by {} (median) in {late} of the {of} training steps around",
            duration(usual_ns)
        ),
    }
}

/// Why a rank was late.
#[must_use]
pub const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Enqueue => "its CPU called the collectives late",
        Cause::Compute => "its GPU was not done, or its host held data back",
        Cause::Sender => "it began to send late; CPU or GPU, nothing tells which",
        Cause::Receiver => "it took data slowly",
        Cause::Congestion => "congestion on its path",
        Cause::Loss => "packets were lost on its path",
        Cause::Pause => "pause stopped it",
        Cause::Socket => "its data goes over TCP",
        Cause::Unknown => "nothing tells why",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_tap_saw_is_unknown() {
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
            "data took 31.2 ms on a connection from rank 1 to rank 2, and 999 ns for as many bytes \
             while nothing was marked; CE marks: 7, CNPs: unknown"
        );
    }
}
