//! Whether the process of a rank is gone, as the kernel of its host shows: it ends all TCP connections of a
//! process that dies, and resets those that others still use.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::state::State;
use crate::flow::state::Flow;
use crate::flow::tcp_stream::attempt::Attempt;
use crate::flow::tcp_stream::farewell::Farewell;
use crate::link::job::CommunicatorId;
use crate::link::rank_ports::RankPorts;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// A process whose connections end this long after others began to wait for it did not make them wait.
const EARLY_NS: u64 = 1_000_000_000;

/// Clocks of taps differ.
const CLOCKS_APART_NS: u64 = 1_000_000;

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The address that ended connections of the job.
    pub host: IpAddr,
    /// FINs and RSTs.
    pub farewells: u64,
    /// RSTs among them.
    pub resets: u64,
    /// The first of them.
    pub witness: Witness,
    /// It came before others waited for the process, or just after.
    pub is_cause: bool,
}

/// The addresses of a process, and those of the other processes of its job on other hosts.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    own: BTreeSet<IpAddr>,
    others: BTreeSet<IpAddr>,
    /// The other processes.
    peers: usize,
}

impl Addresses {
    /// Those of a rank.
    #[must_use]
    pub fn of_rank(state: &State, ports: &RankPorts, id: CommunicatorId, rank: u32) -> Self {
        let known = state.job.as_ref().and_then(|job| job.communicator(id));
        let mut addresses = Self::default();
        for one in known.into_iter().flat_map(|known| &known.ranks) {
            let is_own = one.rank == rank;
            addresses.peers += usize::from(!is_own);
            let side = if is_own { &mut addresses.own } else { &mut addresses.others };
            side.extend(one.address);
            side.extend(one.nics.iter().map(|nic| nic.address));
            side.extend(ports.ports_of(id, one.rank));
        }
        addresses.others.retain(|address| !addresses.own.contains(address));
        addresses
    }

    /// That of a port, where its rank is not known.
    #[must_use]
    pub fn of_port(state: &State, port: IpAddr) -> Self {
        let flows = state.tracker.flows().flows().iter();
        let ends = flows.flat_map(|flow| [flow.key.source.to_ip(), flow.key.destination.to_ip()]);
        let others: BTreeSet<IpAddr> = ends.filter(|end| *end != port).collect();
        Self { own: BTreeSet::from([port]), peers: others.len(), others }
    }
}

/// The end of the process with these addresses, for which others have waited since then. It was the first of
/// its job, and its NIC sent nothing from then until the next job. FINs may also be those of a set-up: they count
/// only if its NIC was seen before, and no connections were set up just before.
#[must_use]
pub fn exit(state: &State, addresses: &Addresses, since: Timestamp) -> Option<Exit> {
    let Addresses { own, others, peers } = addresses;
    let sent = sent(state, own, since);
    let last_sent = sent.map(|sent| sent.last);
    let do_fins_count = last_sent.is_some() && *peers > 1;
    let from = last_sent.unwrap_or(since);
    let later = |of: &BTreeSet<IpAddr>, to: &BTreeSet<IpAddr>, from: Timestamp| {
        let all = of
            .iter()
            .flat_map(|host| state.farewells.of(*host).map(move |farewell| (*host, *farewell)));
        let timed = all.map(|(host, one)| (time(state, &one), host, one));
        let mut found: Vec<(Timestamp, IpAddr, Farewell)> = timed
            .filter(|(time, _, one)| {
                *time > from && to.contains(&one.to) && (one.is_reset || do_fins_count)
            })
            .collect();
        found.sort_by_key(|(time, ..)| *time);
        found
    };
    let said = later(own, others, from);
    let (time, host, first) = *said.first()?;
    let jobs: BTreeSet<IpAddr> = own.union(others).copied().collect();
    // A process that saw a peer die may send for a moment before it gives up, too. What ended while data began
    // was the set-up.
    let begun = sent.map_or(from, |sent| sent.first.plus_nanos(EARLY_NS));
    let just_before = Timestamp::from_nanos(from.as_nanos().saturating_sub(EARLY_NS));
    let is_first = later(others, &jobs, just_before.max(begun).min(from))
        .first()
        .is_none_or(|(other, ..)| time <= other.plus_nanos(CLOCKS_APART_NS));
    let soon = time.plus_nanos(EARLY_NS);
    let is_new = |begun: Timestamp| begun <= time && time < begun.plus_nanos(EARLY_NS);
    // Others that give up at once end connections, too, but what a set-up ends is new, or the job's data is.
    let is_set_up = later(others, others, from).first().is_some_and(|(other, ..)| *other <= soon)
        && (sent.is_none_or(|sent| is_new(sent.first))
            || state.attempts.iter().any(|(client, server, attempt)| {
                let is_own = jobs.contains(&client) && jobs.contains(&server.ip());
                is_own && is_new(latest(state, attempt))
            }));
    (is_first && !is_set_up).then(|| Exit {
        host,
        farewells: said.iter().map(|(_, _, one)| one.count).sum(),
        resets: said.iter().filter(|(.., one)| one.is_reset).map(|(.., one)| one.count).sum(),
        witness: match first.witness {
            Witness::Frame { tap, number, time } => state.frame(tap, number, time),
            other => other,
        },
        is_cause: last_sent.is_some() && time <= since.plus_nanos(EARLY_NS),
    })
}

/// Which of the hosts of a job ended connections to one another about when data stopped at `since`, and when each
/// did so first.
#[must_use]
pub fn ends(state: &State, hosts: &BTreeSet<IpAddr>, since: Timestamp) -> Vec<(Timestamp, IpAddr)> {
    let begin = since.as_nanos().saturating_sub(EARLY_NS);
    let about = Timestamp::from_nanos(begin)..=since.plus_nanos(EARLY_NS);
    let first = |host: &IpAddr| {
        let own = state.farewells.of(*host).filter(|one| hosts.contains(&one.to));
        let first = own.map(|one| time(state, one)).filter(|time| about.contains(time)).min();
        Some((first?, *host))
    };
    hosts.iter().filter_map(first).collect()
}

/// Whether all ends of the hosts' connections then are still known: a host that ends many has room for the latest.
#[must_use]
pub fn are_ends_known(state: &State, hosts: &BTreeSet<IpAddr>, since: Timestamp) -> bool {
    let begin = Timestamp::from_nanos(since.as_nanos().saturating_sub(EARLY_NS));
    hosts.iter().all(|host| state.farewells.are_whole(*host, begin))
}

/// When it was seen, by the common clock.
fn time(state: &State, farewell: &Farewell) -> Timestamp {
    match farewell.witness {
        Witness::Frame { tap, .. } => state.aligned(tap, farewell.time),
        _ => farewell.time,
    }
}

/// When its last SYN passed, by the common clock.
fn latest(state: &State, attempt: &Attempt) -> Timestamp {
    match attempt.witness {
        Witness::Frame { tap, .. } => state.aligned(tap, attempt.span.last),
        _ => attempt.span.last,
    }
}

/// When a NIC with one of these addresses began to send on its latest queue pair, and sent its last
/// packet. Queue pairs that were not used before `since` are those of the next job.
fn sent(state: &State, addresses: &BTreeSet<IpAddr>, since: Timestamp) -> Option<Span> {
    let flows = state.tracker.flows().flows().iter();
    let own = flows.filter(|flow| {
        flow.requester().requests.first().is_some() && addresses.contains(&flow.key.source.to_ip())
    });
    let used = own.filter_map(|flow| {
        let Span { first, last } = state.aligned_span(flow);
        let last = fell_silent(state, flow, since).unwrap_or(last);
        (first <= since).then_some(Span { first, last })
    });
    used.reduce(|one, other| Span {
        first: one.first.max(other.first),
        last: one.last.max(other.last),
    })
}

/// When a flow fell silent, in its longest silence from `since` or soon after. Where the next job has the same
/// queue pair numbers, its first ACKs look like this flow's; not if the flow rested for longer twice before.
fn fell_silent(state: &State, flow: &Flow, since: Timestamp) -> Option<Timestamp> {
    let soon = since.plus_nanos(EARLY_NS);
    let silences = flow.longest_silences.iter().map(|silence| {
        let [first, last] =
            [silence.first, silence.last].map(|time| state.aligned(flow.key.tap, time));
        Span { first, last }
    });
    let later = silences.filter(|silence| silence.first <= soon && since < silence.last);
    later.max_by_key(|silence| silence.length_ns()).map(|silence| silence.first)
}
