//! Inputs of findings in words.

use crate::analysis::finding::kind::Need;

/// Why the input is missing, and how to provide it. Also a value of the metric attribute
/// `railscope.reason`.
#[must_use]
pub const fn missing(need: Need) -> &'static str {
    match need {
        Need::Roce => "no RoCEv2 frame captured",
        Need::ControlPlane => "no TCP of the job's control plane captured",
        Need::Ranks => {
            "no communicator known: capture the start of the job, or pass NCCL logs (--nccl-log)"
        }
        Need::Collectives => "no collective found",
        Need::Logs => "no NCCL logs (--nccl-log)",
        Need::Pause => {
            "no pause frame captured, and few taps see MAC control frames: pass NIC counters \
             (--counters)"
        }
        Need::Counters => "no NIC counters (--counters)",
        Need::Expectations => "no expectations ([expect] in --config)",
        Need::ParallelPaths => "fewer than two rails known, and no taps at parallel uplinks",
        Need::CallRecords => {
            "no flight recorder dumps (--flight-recorder) and no answers of RAS (--ras)"
        }
        Need::NodeOutputs => {
            "no output of a tool that describes a node (show_gids, ethtool -S, ...)"
        }
        Need::Benchmarks => "no table of nccl-tests",
        Need::Processes => "no process watched (`railscope agent` does that)",
    }
}

/// The input, for documentation and for the list of findings that were not checked.
#[must_use]
pub const fn name(need: Need) -> &'static str {
    match need {
        Need::Roce => "RoCEv2 frames",
        Need::ControlPlane => "TCP of the control plane",
        Need::Ranks => "linked ranks",
        Need::Collectives => "collectives",
        Need::Logs => "NCCL logs (--nccl-log)",
        Need::Pause => "pause frames",
        Need::Counters => "NIC counters (--counters)",
        Need::Expectations => "[expect] (--config)",
        Need::ParallelPaths => "rails or taps at uplinks",
        Need::CallRecords => "records of calls (--flight-recorder, --ras)",
        Need::NodeOutputs => "outputs of tools about a node",
        Need::Benchmarks => "tables of nccl-tests",
        Need::Processes => "watched processes (`railscope agent`)",
    }
}
