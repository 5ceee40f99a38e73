//! Titles of verdicts: what broke, where, and what it cost.

use std::net::IpAddr;

use super::number::{count, counted, duration, percent, share};
use super::record;
use super::straggler::cause;
use crate::analysis::proxy::{Lateness, ShownBy, SlowEdge};
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};
use crate::analysis::verdict::{Missing, Profiled, Verdict, VerdictClaim};
use crate::model::grade::Grade;

/// The title of a verdict. `finding` is the title of the first finding that it rests on, `port`
/// names a port.
#[must_use]
pub fn title(verdict: &Verdict, finding: Option<&str>, port: &dyn Fn(IpAddr) -> String) -> String {
    let place = place(&verdict.subject, port);
    let cost = cost(verdict);
    match &verdict.claim {
        VerdictClaim::Outage { length_ns, is_open, tries, flows } => {
            let what = outage(verdict, port);
            let how_long = match is_open {
                true => format!("for the last {} of the capture", duration(*length_ns)),
                false => format!("for {}", duration(*length_ns)),
            };
            let flows_counted = counted(*flows, "flow");
            if *tries == 0 {
                let verb = if *flows == 1 { "waits" } else { "wait" };
                return format!("{what} {how_long}: {flows_counted} {verb} for an ACK");
            }
            let timeouts = counted(*tries, "ACK timeout");
            format!("{what} {how_long}: {timeouts} on {flows_counted} without an answer")
        }
        VerdictClaim::SentAgain { resent, sent } => format!(
            "packets are sent again {place}: {} of {} ({}), and no tap saw what was lost{cost}",
            count(*resent),
            count(*sent),
            share(*resent, *sent)
        ),
        VerdictClaim::Lost { lost, sent } => format!(
            "packets are lost {place}: {} of {} ({}){cost}",
            count(*lost),
            count(*sent),
            share(*lost, *sent)
        ),
        VerdictClaim::Sprayed { late, sent, resent } => format!(
            "packets are sprayed over paths: {} of {} ({}) arrive after later ones, {} retransmitted",
            count(*late),
            count(*sent),
            share(*late, *sent),
            if *resent == 0 { "none".to_owned() } else { count(*resent) }
        ),
        VerdictClaim::Reordered { late, sent } => format!(
            "packets arrive out of order {place}: {} of {} ({}){cost}",
            count(*late),
            count(*sent),
            share(*late, *sent)
        ),
        VerdictClaim::Marked { marked, sent } => format!(
            "congestion {place}: {} of {} packets CE-marked ({}){cost}",
            count(*marked),
            count(*sent),
            share(*marked, *sent)
        ),
        VerdictClaim::Late(late) => {
            format!(
                "rank {} {} late in {} of {} training steps, {}by {}: {}{cost}",
                late.rank,
                if late.late == 1 { "was" } else { "is" },
                count(late.late),
                count(late.of),
                if late.late == 1 { "" } else { "usually " },
                duration(late.usual_ns),
                cause(late.cause).clause
            ) + &profiled(verdict)
        }
        VerdictClaim::LateByProfiles(late) => {
            let (when, by) = match late.shown_by {
                ShownBy::Waits => ("", "the profiles of its proxies"),
                ShownBy::Clock => (
                    ", when the other ranks of its node had their data",
                    "the profiles of its proxies",
                ),
                ShownBy::Kernels => ("", "the times of the GPUs' kernels"),
            };
            format!(
                "rank {} was late: the others waited {} for it in {} of {} of {}: {}{when} (by {by})",
                late.rank,
                duration(late.late_ns),
                count(late.collectives),
                counted(late.judged, "collective"),
                record::hash(late.hash),
                why(late.why),
            )
        }
        VerdictClaim::SlowByProfiles(SlowEdge { from, to, waited_ns }, hash) => format!(
            "rank {to} takes data slowly: sends of rank {from} waited {} for room, in {} (by the \
             profiles of its proxies)",
            duration(*waited_ns),
            record::hash(*hash)
        ),
        VerdictClaim::Varies(jitter) => format!(
            "compute varies by {}: training steps wait {} on average for their last rank; no \
             rank stands out{cost}",
            percent(jitter.share),
            duration(jitter.usual_ns)
        ),
        VerdictClaim::SlowReceiver { collectives } => {
            format!(
                "rank {} takes data slowly in {}{cost}",
                verdict.subject.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string()),
                counted(*collectives, "collective")
            ) + &profiled(verdict)
        }
        VerdictClaim::CaptureStopped { missed_ns } => format!(
            "the capture {place} stopped {} before its host did; what it lacks is no sign of a hang",
            duration(*missed_ns)
        ),
        VerdictClaim::Finding => {
            format!("{}{cost}", finding.unwrap_or("a finding without a cause"))
        }
        VerdictClaim::Healthy { ranks, collectives, packets, is_in_order } => format!(
            "the network is not the cause: {} packets of {} in {} arrived {}unmarked and in time",
            count(*packets),
            counted(*ranks, "rank"),
            counted(*collectives, "collective"),
            if *is_in_order { "in order, " } else { "" }
        ),
        VerdictClaim::NotEnough(missing) => not_enough(missing),
    }
}

/// `; the profiles of NCCL's proxies show the same`.
fn profiled(verdict: &Verdict) -> String {
    match verdict.profiled {
        None => String::new(),
        Some(Profiled::Agree) => "; the profiles of NCCL's proxies show the same".to_owned(),
        Some(Profiled::OtherCause(other)) => {
            format!("; but the profiles of NCCL's proxies say of it: {}", why(other))
        }
        Some(Profiled::TakesSlowly) => {
            "; but by the profiles of NCCL's proxies it takes data slowly".to_owned()
        }
        Some(Profiled::OtherRank(rank)) => {
            format!("; but the profiles of NCCL's proxies name rank {rank}")
        }
    }
}

const fn why(why: Lateness) -> &'static str {
    match why {
        Lateness::Gpu => "its GPU had the data late",
        Lateness::Enqueue => "it called late",
        Lateness::Unknown => "why is not known",
    }
}

/// `towards 10.0.0.3 (rank 2)`, `from 10.0.0.2 to 10.0.0.3`.
fn place(subject: &VerdictSubject, port: &dyn Fn(IpAddr) -> String) -> String {
    let Some(at) = subject.port else { return "on many paths".to_owned() };
    let at = port(at);
    match (subject.peer_port.map(port), subject.heading) {
        (Some(peer), Some(Heading::Towards)) => format!("on the path {peer} → {at}"),
        (Some(peer), Some(Heading::From)) => format!("on the path {at} → {peer}"),
        (Some(peer), _) => format!("on the path {peer} ↔ {at}"),
        (None, Some(Heading::Towards)) => format!("on the way to {at}"),
        (None, Some(Heading::From)) => format!("on the way from {at}"),
        (None, Some(Heading::Both)) => format!("both ways at {at}"),
        (None, None) => format!("at {at}"),
    }
}

/// What is dead.
fn outage(verdict: &Verdict, port: &dyn Fn(IpAddr) -> String) -> String {
    let Verdict { class, subject, grade, .. } = verdict;
    let Some(at) = subject.port else { return "nothing came back".to_owned() };
    let at = port(at);
    match (*class, subject.peer_port.map(port), subject.heading) {
        // No tap shows whether anything arrived.
        (_, None, None) if *grade == Grade::Unknown => format!("nothing came back from {at}"),
        (Class::ProcessGone, ..) => format!("{at} received packets and answered none"),
        (Class::QueuePairError, Some(peer), _) => {
            format!("one of several queue pairs {peer} → {at} got no answer")
        }
        (Class::QueuePairError, None, _) => format!("queue pairs of {at} answered nothing"),
        (Class::HostDead, ..) => format!("host of {at} was dead"),
        (_, Some(peer), Some(Heading::Towards)) => format!("path {peer} → {at} was dead"),
        (_, Some(peer), Some(Heading::From)) => format!("path {at} → {peer} was dead"),
        (_, Some(peer), _) => format!("path {peer} ↔ {at} was dead"),
        (_, None, Some(Heading::Towards)) => format!("nothing reached {at}"),
        (_, None, Some(Heading::From)) => format!("nothing from {at} got through"),
        (_, None, _) => format!("port {at} was down"),
    }
}

/// `; it cost 1.20 s (5.4 % of the time)`.
fn cost(verdict: &Verdict) -> String {
    let Some(cost_ns) = verdict.cost_ns.filter(|cost_ns| *cost_ns > 0) else {
        return String::new();
    };
    let share = verdict.cost_share.map(|share| format!(" ({} of the time)", percent(share)));
    format!("; it cost {}{}", duration(cost_ns), share.unwrap_or_default())
}

/// What is missing for a judgement.
#[must_use]
pub fn not_enough(missing: &Missing) -> String {
    match missing {
        Missing::Everything => "nothing to judge: no RoCEv2 packets, no NCCL log entries and no \
                                counters"
            .to_owned(),
        Missing::Packets { logs, counters, records, outputs } => {
            let read = inputs(*logs, *counters, *records, *outputs);
            format!(
                "no problem in the {read} that were read, but no packets: nothing is known about the \
                 network between the hosts"
            )
        }
        Missing::Nccl => "not enough seen to judge a job: RoCEv2 packets, but no NCCL collective; \
                          capture from the start of the job, both directions"
            .to_owned(),
        Missing::Taps { ports, of, hosts } => {
            format!("nothing stands out in what was captured, but {}", no_tap(ports, *of, hosts))
        }
    }
}

/// What was read: `logs and counters`.
pub(super) fn inputs(logs: bool, counters: bool, records: bool, outputs: bool) -> String {
    let all = [
        (logs, "logs"),
        (counters, "counters"),
        (records, "recorded calls"),
        (outputs, "outputs of tools"),
    ];
    let read = all.into_iter().filter(|(is_read, _)| *is_read).map(|(_, name)| name);
    read.collect::<Vec<_>>().join(" and ")
}

/// Where a tap is missing: next to these `ports`, of so many, and at these hosts.
#[must_use]
pub fn no_tap(ports: &[IpAddr], of: u64, hosts: &[IpAddr]) -> String {
    let list = |all: &[IpAddr]| {
        let few: Vec<String> = all.iter().take(3).map(IpAddr::to_string).collect();
        let more = all.len().saturating_sub(few.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", few.join(", "))
    };
    let at_ports =
        format!("no tap is next to {} of {of} ports: capture at {}", ports.len(), list(ports));
    let at_hosts = format!("no port of these hosts was seen: {}", list(hosts));
    match (ports.is_empty(), hosts.is_empty()) {
        (_, true) => at_ports,
        (true, false) => at_hosts,
        (false, false) => format!("{at_ports}; {at_hosts}"),
    }
}
