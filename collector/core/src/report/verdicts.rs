//! Verdicts: what broke, where, since when, how much it cost, how sure that is.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::words;
use crate::analysis::hang;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::hang::page;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};
use crate::analysis::verdict::{Profiled, Verdict, VerdictClaim};
use crate::model::address::HostAddress;

/// A verdict: the cause of findings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerdictReport {
    /// Its class: `path_dead`, `port_down`, `host_dead`, `process_gone`, `process_stopped`,
    /// `queue_pair_error`, `rank_not_called`, `ranks_disagree`, `gpu_stuck`, `loss`, `reordering`,
    /// `congestion`, `pause`, `slow_receiver`, `late_rank`, `socket_fallback`, `capture_stopped`; the
    /// `id` of a finding that nothing explains; `network_not_the_cause` or `not_enough_seen`;
    /// `compute_varies`.
    pub id: &'static str,
    /// One line: what broke, where, and what it cost.
    pub title: String,
    /// `info`, `warning` or `critical`. A job is healthy if no verdict is above `info`.
    pub severity: &'static str,
    /// Where it is.
    pub subject: VerdictSubjectReport,
    /// First time seen.
    pub since_ns: Option<i64>,
    /// Last time seen.
    pub until_ns: Option<i64>,
    /// Time of training that it cost; `null` if unknown.
    pub cost_ns: Option<u64>,
    /// The same as a share of the time seen, 0 to 1.
    pub cost_share: Option<f64>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Another class that the evidence leaves, if any.
    pub alternatives: Vec<&'static str>,
    /// What would tell the class from the alternative; `null` without one.
    pub would_decide: Option<&'static str>,
    /// Whether a job stands still because of it.
    pub stops_job: bool,
    /// The page about the class in `docs/hangs`; `null` where there is none.
    pub page: Option<&'static str>,
    /// Why a rank is late: `enqueue`, `compute`, `sender`; `null` for other verdicts.
    pub cause: Option<&'static str>,
    /// What profiles of NCCL's proxies say of its rank: `agree`, `other_cause`, `takes_slowly`,
    /// `other_rank`, or `alone` if only they show it; `null` if nothing.
    pub by_profiles: Option<&'static str>,
    /// Indices of the findings that it rests on.
    pub findings: Vec<usize>,
    /// Indices of the findings that follow from it.
    pub explains: Vec<usize>,
    /// What to do.
    pub remedy: String,
    /// It says what its only finding says.
    #[serde(skip)]
    pub is_finding: bool,
    /// The title without the cost, for output that shows the cost beside it.
    #[serde(skip)]
    pub headline: String,
}

impl VerdictReport {
    /// Whether it says that something is wrong.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        self.severity != "info"
    }

    /// Whether it says what is known of the network where nothing blames it.
    #[must_use]
    pub fn is_on_network(&self) -> bool {
        self.is_unjudged() || self.id == Class::NetworkNotTheCause.id()
    }

    /// Whether it says what varies by chance.
    #[must_use]
    pub fn is_on_chance(&self) -> bool {
        self.id == Class::ComputeVaries.id()
    }

    /// Whether it says that too little was seen to judge.
    #[must_use]
    pub fn is_unjudged(&self) -> bool {
        self.id == Class::NotEnoughSeen.id()
    }
}

/// Where a cause is; fields that do not apply or are unknown are `null`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerdictSubjectReport {
    /// Name or address of the host.
    pub host: Option<String>,
    /// Address of the port.
    pub port: Option<String>,
    /// Rank in `communicator`.
    pub rank: Option<u32>,
    /// `id` of the communicator.
    pub communicator: Option<String>,
    /// `id` of the worst flow.
    pub flow: Option<u32>,
    /// Address of the other port of a path.
    pub peer_port: Option<String>,
    /// `towards`, `from` or `both`: which packets are affected, as seen from the port.
    pub direction: Option<&'static str>,
}

/// The verdicts, the costliest cause first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<VerdictReport> {
    let found = &sources.understanding.verdicts.found;
    found.iter().map(|verdict| report(sources, verdict)).collect()
}

fn report(sources: &Sources<'_>, verdict: &Verdict) -> VerdictReport {
    let finding = verdict.rests_on.first().and_then(|at| {
        let found = &sources.understanding.findings.found;
        found.get(*at).map(|finding| words::finding::title(&finding.claim))
    });
    let names = Names { sources };
    VerdictReport {
        id: verdict.class.id(),
        title: words::verdict::title(verdict, finding.as_deref(), &|port| names.port(port)),
        severity: verdict.severity.name(),
        subject: subject(sources, &verdict.subject),
        since_ns: verdict.span.map(|span| sources.relative_ns(span.first)),
        until_ns: verdict.span.map(|span| sources.relative_ns(span.last)),
        cost_ns: verdict.cost_ns,
        cost_share: verdict.cost_share,
        grade: verdict.grade.name(),
        alternatives: verdict.alternative.iter().map(|class| class.id()).collect(),
        would_decide: verdict.would_decide(),
        stops_job: hang::stops(sources.understanding, verdict),
        page: page(verdict.class),
        cause: cause(&verdict.claim),
        by_profiles: by_profiles(verdict),
        findings: verdict.rests_on.clone(),
        explains: verdict.explains.clone(),
        remedy: verdict.remedy.to_owned(),
        is_finding: verdict.claim == VerdictClaim::Finding,
        headline: words::verdict::title(
            &Verdict { cost_ns: None, ..verdict.clone() },
            finding.as_deref(),
            &|port| names.port(port),
        ),
    }
}

fn cause(claim: &VerdictClaim) -> Option<&'static str> {
    match claim {
        VerdictClaim::Late(late) => Some(late.cause.name()),
        VerdictClaim::LateByProfiles(late) => Some(late.why.cause().name()),
        _ => None,
    }
}

fn by_profiles(verdict: &Verdict) -> Option<&'static str> {
    match (&verdict.claim, verdict.profiled) {
        (VerdictClaim::LateByProfiles(_) | VerdictClaim::SlowByProfiles(..), _) => Some("alone"),
        (_, Some(Profiled::Agree)) => Some("agree"),
        (_, Some(Profiled::OtherCause(_))) => Some("other_cause"),
        (_, Some(Profiled::TakesSlowly)) => Some("takes_slowly"),
        (_, Some(Profiled::OtherRank(_))) => Some("other_rank"),
        (_, None) => None,
    }
}

/// Names of ports in sentences.
struct Names<'a> {
    sources: &'a Sources<'a>,
}

impl Names<'_> {
    /// `10.0.0.3 (rank 2)`, `10.0.0.3 (rank 2 on gpu-node-02)`.
    fn port(&self, port: IpAddr) -> String {
        let host = self.host(port);
        let rank = self.rank(port);
        match (rank, host) {
            (Some(rank), Some(host)) => format!("{port} (rank {rank} on {host})"),
            (Some(rank), None) => format!("{port} (rank {rank})"),
            (None, Some(host)) => format!("{port} ({host})"),
            (None, None) => port.to_string(),
        }
    }

    fn host(&self, port: IpAddr) -> Option<String> {
        let address = HostAddress::from(port);
        let known = self.sources.understanding.ports.iter().find(|one| one.address == address)?;
        known.host.clone()
    }

    fn rank(&self, port: IpAddr) -> Option<u32> {
        self.sources.rank_ports.rank_at(port)
    }
}

fn subject(sources: &Sources<'_>, subject: &VerdictSubject) -> VerdictSubjectReport {
    let job = sources.state.job.as_ref();
    let names = Names { sources };
    let communicator = subject.communicator.and_then(|id| job?.communicator(id));
    let known = communicator
        .and_then(|one| one.ranks.iter().find(|known| Some(known.rank) == subject.rank));
    let host = known.and_then(|rank| {
        rank.host.clone().or_else(|| rank.address.map(|address| address.to_string()))
    });
    VerdictSubjectReport {
        host: host.or_else(|| names.host(subject.port?)),
        port: subject.port.map(|port| port.to_string()),
        rank: subject.rank.or_else(|| names.rank(subject.port?)),
        communicator: subject.communicator.and_then(|id| job?.name_of(id)),
        flow: subject.flow.and_then(|at| sources.flow_ids.of(at)),
        peer_port: subject.peer_port.map(|port| port.to_string()),
        direction: subject.heading.map(Heading::name),
    }
}
