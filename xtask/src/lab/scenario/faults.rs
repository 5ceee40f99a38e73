//! One fault per case: it causes the expected counts and recoveries, and no others.

use std::path::Path;

use anyhow::Result;

use super::definition::Scenario;
use crate::lab::agreement::{self, Receiver};
use crate::lab::case::{Case, addresses};
use crate::lab::facts::Facts;
use crate::lab::qdisc;
use crate::lab::trouble::{
    self,
    Trouble::{
        self, AccessNak, AfterNak, AfterRnr, AfterSilence, AfterUnknown, Ce, Late, Missing, Resent,
        RnrNak, SequenceNak,
    },
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "faults",
    about: "loss, reorder, RNR, CE by netem and RED, bad R_Key, peer killed, link down and up",
    limit: 600,
    needs_verbs: false,
    has_older_kernel: false,
    check,
};

/// One case: what it must cause, what it may cause, and further checks.
struct Fault {
    name: &'static str,
    causes: &'static [Trouble],
    may_cause: &'static [Trouble],
    receiver: Receiver,
    also: fn(&Case, &mut Facts) -> Result<()>,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "loss",
        causes: &[Missing, Resent, SequenceNak, AfterNak],
        // If the last packet of a burst is lost, only the sender's timer notices.
        may_cause: &[AfterSilence, AfterUnknown],
        receiver: Receiver::Stays,
        also: |case, facts| {
            let netem = qdisc::find(&case.text("qdisc")?, "netem")?;
            facts.some("dropped", netem.drops);
            facts.equal("lost between the taps", case.lost_from(0), Some(netem.drops));
            facts.equal("lost on the way back", case.lost_from(1), Some(0));
            delivered(case, |messages| messages.send, 200, facts);
            Ok(())
        },
    },
    Fault {
        name: "reorder",
        causes: &[Missing, Late, Resent, SequenceNak, AfterNak],
        may_cause: &[AfterSilence, AfterUnknown],
        receiver: Receiver::Stays,
        also: |case, facts| {
            lossless(case, facts);
            delivered(case, |messages| messages.write, 200, facts);
            Ok(())
        },
    },
    Fault {
        name: "rnr",
        // Packets after the refused one are out of sequence.
        causes: &[RnrNak, Resent, AfterRnr],
        may_cause: &[SequenceNak, AfterNak, AfterUnknown],
        receiver: Receiver::Stays,
        also: |case, facts| {
            lossless(case, facts);
            delivered(case, |messages| messages.send, 100, facts);
            Ok(())
        },
    },
    Fault {
        name: "ce_netem",
        causes: &[Ce],
        may_cause: &[],
        receiver: Receiver::Stays,
        also: |case, facts| {
            lossless(case, facts);
            facts.equal("marked before the marker", marked(case, 0), 0);
            delivered(case, |messages| messages.write, 200, facts);
            Ok(())
        },
    },
    Fault {
        name: "ce_red",
        causes: &[Ce],
        may_cause: &[],
        receiver: Receiver::Stays,
        also: |case, facts| {
            lossless(case, facts);
            let red = qdisc::find(&case.text("qdisc")?, "red")?;
            facts.equal("marked before the marker", marked(case, 0), 0);
            facts.equal("marked behind the marker", marked(case, 1), red.marked);
            delivered(case, |messages| messages.write, 100, facts);
            Ok(())
        },
    },
    Fault {
        name: "bad_rkey",
        causes: &[AccessNak],
        may_cause: &[],
        receiver: Receiver::Stays,
        also: |case, facts| {
            lossless(case, facts);
            let refused =
                case.taps[0].report.tallies().values().map(|tally| tally.access_naks).sum();
            facts.equal("access errors", refused, 1_u64);
            delivered(case, |messages| messages.write, 8, facts);
            Ok(())
        },
    },
    Fault {
        name: "peer_killed",
        causes: &[Resent, AfterSilence],
        may_cause: &[AfterUnknown],
        receiver: Receiver::Goes,
        also: |case, facts| {
            lossless(case, facts);
            facts.some("retries", case.retries());
            Ok(())
        },
    },
    Fault {
        name: "link_flap",
        causes: &[Resent, AfterSilence],
        // Packets sent after the link came back.
        may_cause: &[Missing, SequenceNak, AfterNak, AfterUnknown],
        receiver: Receiver::Stays,
        also: |case, facts| {
            facts.some("lost between the taps", case.lost_from(0).unwrap_or(0));
            facts.some("times that the link went down", case.counters.value(1, "link_downed"));
            delivered(case, |messages| messages.write, 1000, facts);
            Ok(())
        },
    },
];

fn check(folder: &Path, railscope: &Path, facts: &mut Facts) -> Result<()> {
    for fault in FAULTS {
        let case = Case::read(folder, fault.name, railscope)?;
        agreement::check(&case, fault.receiver, facts);
        trouble::check(&case, fault.causes, fault.may_cause, facts);
        (fault.also)(&case, facts)?;
    }
    Ok(())
}

/// Nothing is lost between the taps.
fn lossless(case: &Case, facts: &mut Facts) {
    for host in [0, 1] {
        facts.equal("lost between the taps", case.lost_from(host), Some(0));
    }
}

/// The server completed all messages of the client despite the fault.
fn delivered(
    case: &Case,
    kind: fn(&crate::lab::analysis::Messages) -> u64,
    count: u64,
    facts: &mut Facts,
) {
    let flows = case.taps[1].report.flows.iter().filter(|flow| addresses(0).contains(&flow.src));
    let found = flows.map(|flow| kind(&flow.messages)).sum::<u64>();
    facts.equal("messages delivered", found, count);
}

/// CE marks that railscope counts at a host's tap.
fn marked(case: &Case, host: usize) -> u64 {
    case.taps[host].report.tallies().values().map(|tally| tally.ce).sum()
}
