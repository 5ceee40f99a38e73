//! Verdicts: what broke, where, since when, how much it cost, how sure that is, and what it explains.
//!
//! Findings say what was seen. A verdict says which of it is the cause: each rule (`rule`) looks for
//! one class of cause in findings, counts of lost packets and lateness, and names the findings that
//! follow from it. What follows from another cause is no cause (`fold`); of what is left, the
//! costliest comes first.

pub mod class;
pub mod cost;
pub mod evidence;
mod fold;
pub(in crate::analysis) mod fuse;
pub mod hang;
pub mod rule;
pub mod subject;

use self::class::Class;
use self::evidence::{Evidence, Lateness};
use self::subject::VerdictSubject;
use super::finding::Finding;
use super::finding::facts::Facts;
use super::finding::search::Findings;
use super::path::place::Located;
use super::proxy::{Late, Lateness as Why, SlowEdge};
use super::severity::Severity;
use super::straggler::jitter::Jitter;
use super::straggler::significant::SignificantStraggler;
use crate::model::grade::Grade;
use crate::model::time::Span;

/// One verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What kind of cause it is.
    pub class: Class,
    /// Another class that the evidence leaves.
    pub alternative: Option<Class>,
    /// How bad.
    pub severity: Severity,
    /// Where it is.
    pub subject: VerdictSubject,
    /// The figures behind it.
    pub claim: VerdictClaim,
    /// From when to when it was seen.
    pub span: Option<Span>,
    /// Time of training that it cost; `None` if unknown.
    pub cost_ns: Option<u64>,
    /// The same as a share of the time that was seen.
    pub cost_share: Option<f64>,
    /// How sure it is.
    pub grade: Grade,
    /// Places of the findings that it rests on.
    pub rests_on: Vec<usize>,
    /// Places of the findings that it explains, without those.
    pub explains: Vec<usize>,
    /// What profiles of NCCL's proxies say of the same; `None` if nothing.
    pub profiled: Option<Profiled>,
    /// What to do.
    pub remedy: &'static str,
}

/// What profiles say of a rank that packets name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profiled {
    /// The same.
    Agree,
    /// The same rank, for this reason.
    OtherCause(Why),
    /// It takes data slowly.
    TakesSlowly,
    /// Another rank.
    OtherRank(u32),
}

/// The figures of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum VerdictClaim {
    /// Nothing came back for a while, or until the end.
    Outage {
        /// Its length.
        length_ns: u64,
        /// Until the end of the capture.
        is_open: bool,
        /// Expired timers.
        tries: u64,
        /// Flows without an answer.
        flows: u64,
    },
    /// Packets lost at one place.
    Lost {
        /// Packets.
        lost: u64,
        /// Packets sent through it.
        sent: u64,
    },
    /// Packets sent again, of which no tap saw what was lost.
    SentAgain {
        /// Packets sent again.
        resent: u64,
        /// All packets.
        sent: u64,
    },
    /// Packets out of order at one place.
    Reordered {
        /// Packets that came late.
        late: u64,
        /// Packets sent through it.
        sent: u64,
    },
    /// Packets out of order by design.
    Sprayed {
        /// Packets that came late.
        late: u64,
        /// All packets.
        sent: u64,
        /// Packets that were sent again.
        resent: u64,
    },
    /// Packets marked at one place.
    Marked {
        /// CE-marked packets.
        marked: u64,
        /// Packets through it.
        sent: u64,
    },
    /// A rank that others wait for.
    Late(SignificantStraggler),
    /// A rank that others waited for, by profiles alone.
    LateByProfiles(Late),
    /// A rank that takes data slowly, by profiles alone: the edge to it, and the communicator's hash.
    SlowByProfiles(SlowEdge, u64),
    /// Training steps wait for their last rank, whichever it is.
    Varies(Jitter),
    /// A rank that takes data slowly, in so many collectives.
    SlowReceiver {
        /// Collectives.
        collectives: u64,
    },
    /// A tap ended this much before its host did.
    CaptureStopped {
        /// From its last frame to the last packet that another tap saw from its host.
        missed_ns: u64,
    },
    /// What a finding says.
    Finding,
    /// Everything that was seen is well.
    Healthy {
        /// Ranks that were seen to send.
        ranks: u64,
        /// Collectives.
        collectives: u64,
        /// RoCE packets.
        packets: u64,
        /// They arrived in order.
        is_in_order: bool,
    },
    /// Too little was seen to judge.
    NotEnough(Missing),
}

/// What is missing for a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nothing that could be read.
    Everything,
    /// Packets: what else was read shows no trouble.
    Packets {
        /// Logs were read.
        logs: bool,
        /// Counters were read.
        counters: bool,
        /// Flight recorder dumps or answers of RAS were read.
        records: bool,
        /// Outputs of other tools were read.
        outputs: bool,
    },
    /// RoCE without NCCL's messages.
    Nccl,
    /// Taps.
    Taps {
        /// Addresses of ports that no tap is next to.
        ports: Vec<std::net::IpAddr>,
        /// Ports in all.
        of: u64,
        /// Addresses of hosts of the job of which no port was seen: those of the bootstrap.
        hosts: Vec<std::net::IpAddr>,
    },
}

/// Verdicts, and which of them explains each finding.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// The costliest cause first.
    pub found: Vec<Verdict>,
    /// By place of the finding: the verdict that it belongs to.
    pub explained_by: Vec<Option<usize>>,
    /// What is missing for the statement that nothing else is wrong.
    pub missing: Option<Missing>,
}

/// The verdicts on everything that was found.
#[must_use]
pub fn verdicts(facts: &Facts<'_>, findings: &Findings, lateness: Lateness<'_>) -> Verdicts {
    let evidence = Evidence::new(facts, &findings.found, lateness);
    let mut found: Vec<Verdict> =
        rule::ALL.iter().flat_map(|rule| (rule.conclude)(&evidence)).collect();
    fold::merge(&mut found);
    fold::absorb(&mut found, &evidence);
    found.extend(rule::logged::conclude(&evidence, &found));
    found.extend(rule::finding::unexplained(&evidence, &found));
    rule::queue_pair::settle(&evidence, &mut found);
    fuse::fuse(&mut found, &evidence);
    rule::profiled::join(&mut found, &evidence);
    fold::order(&mut found);
    found.extend(rule::healthy::conclude(&evidence, &found));
    found.extend(rule::compute_varies::conclude(&evidence, &found));
    let explained_by = fold::explained_by(&found, findings.found.len());
    Verdicts { found, explained_by, missing: rule::healthy::missing(&evidence) }
}

impl Verdict {
    /// Whether it says that something is wrong.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        self.severity > Severity::Info
    }

    /// What would tell its class from the alternative; `None` without one.
    #[must_use]
    pub fn would_decide(&self) -> Option<&'static str> {
        hang::would_decide(self.class, self.alternative?)
    }

    /// A verdict without findings yet.
    fn new(class: Class, severity: Severity, subject: VerdictSubject, claim: VerdictClaim) -> Self {
        Self {
            class,
            alternative: None,
            severity,
            subject,
            claim,
            span: None,
            cost_ns: None,
            cost_share: None,
            grade: Grade::Inferred,
            rests_on: Vec::new(),
            explains: Vec::new(),
            profiled: None,
            remedy: class.remedy(),
        }
    }

    /// A verdict that says what one finding says: with its title, severity, grade, time and remedy.
    fn of_finding(class: Class, subject: VerdictSubject, at: usize, finding: &Finding) -> Self {
        Self {
            grade: finding.grade,
            rests_on: vec![at],
            span: finding.span,
            remedy: match class {
                Class::Other(_) => finding.remedy,
                _ => class.remedy(),
            },
            ..Self::new(class, finding.severity, subject, VerdictClaim::Finding)
        }
    }

    /// The same with its cost, of `seen_ns` that were seen.
    fn costing(mut self, cost_ns: u64, seen_ns: u64) -> Self {
        self.cost_ns = Some(cost_ns);
        self.cost_share = (seen_ns > 0).then(|| cost_ns as f64 / seen_ns as f64);
        self
    }
}

/// Whether the place is proven: no other is likely enough.
fn grade_of(located: &Located) -> Grade {
    if located.is_proven { Grade::Proven } else { Grade::Inferred }
}
