//! One path moves data slower than all others.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::analysis::finding::claim::pace::PaceClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, NetConnection, Transfer};
use crate::model::nccl::Graph;
use crate::model::spread::{lower_median, upper_median, upper_quartile};
use crate::model::time::Span;

/// Fewest messages for which a path is compared.
const MESSAGES: usize = 16;
/// Fewest packets of a message whose rate is measured.
const PACKETS: u32 = 4;
/// Share of the other paths' rate below which a path is slow.
const SLOW: f64 = 0.5;
/// Fewest paths that are compared.
const PATHS: usize = 3;

/// Slow NIC or link.
pub const KIND: Kind = Kind {
    id: "slow_path",
    about: "Messages between two ports take much longer from first to last packet than on other \
            paths, without loss, marks or pause. Usual reasons: a link that came up at a lower \
            rate, a NIC in a narrow PCIe slot, a rate limit, a slow receiver.",
    threshold: "Of at least 16 messages, both the median rate and the upper quartile are below half \
                of those of most of the communicator's other paths (at least 3 paths; our choice): \
                where a quarter of the messages is quick, a busy host delays the others, and no link \
                is slow. Rates are measured inside a message: waiting for a late rank does not count.",
    remedy: "Check `ibstatus`/`ethtool <netdev>` (speed, width, FEC), `lspci -vv` (LnkSta: speed \
             and width downgraded), `ib_write_bw` between the two hosts, rate limits on NIC and \
             switch port.",
    needs: &[Need::Ranks],
    detect,
};

/// Messages between two ports.
#[derive(Default)]
struct Path<'a> {
    /// Bits per second of each message.
    rates: Vec<u64>,
    longest: Option<&'a Transfer>,
    ranks: Option<(u32, u32)>,
    span: Option<Span>,
}

type Paths<'a> = BTreeMap<CommunicatorId, BTreeMap<(IpAddr, IpAddr), Path<'a>>>;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(job) = facts.job() else { return Vec::new() };
    let mut paths: Paths<'_> = BTreeMap::new();
    // In a tree, ranks divide their NIC among different numbers of neighbours.
    let is_ring = |one: &&NetConnection| matches!(one.graph, Some(Graph::Ring) | None);
    for connection in job.connections.iter().filter(is_ring) {
        add(connection, &mut paths);
    }
    // Another finding explains why these flows are slow.
    for flow in facts.flows {
        let is_sick = flow.marks.0 > 0 || flow.cnps > 0 || flow.missing > flow.late;
        let of = flow.owner.and_then(|owner| paths.get_mut(&owner.communicator));
        if let Some(of) = of.filter(|_| is_sick) {
            of.remove(&(flow.source, flow.destination));
        }
    }
    let communicators = paths.into_iter();
    communicators.flat_map(|(id, paths)| slowest(id, &paths)).collect()
}

fn add<'a>(connection: &'a NetConnection, paths: &mut Paths<'a>) {
    for transfer in &connection.transfers {
        let pair = connection.queue_pairs.get(usize::from(transfer.queue_pair));
        let Some((pair, rate)) = pair.zip(rate(transfer)) else { continue };
        let of = paths.entry(connection.communicator).or_default();
        let path = of.entry((pair.sender, pair.receiver)).or_default();
        path.rates.push(rate);
        let is_longest = |known: &&Transfer| length(known) >= length(transfer);
        path.longest = path.longest.filter(is_longest).or(Some(transfer));
        path.ranks = connection.sender.zip(connection.receiver);
        path.span = transfer.received.or(transfer.sent).map(|span| match path.span {
            Some(known) => {
                Span { first: known.first.min(span.first), last: known.last.max(span.last) }
            }
            None => span,
        });
    }
}

fn length(transfer: &Transfer) -> u64 {
    let span = transfer.received.or(transfer.sent);
    span.map_or(0, |span| span.last.nanos_since(span.first))
}

/// Bits per second from the first packet to the last.
fn rate(transfer: &Transfer) -> Option<u64> {
    let ns = length(transfer);
    let bytes = transfer.bytes.filter(|_| transfer.packets >= PACKETS && ns > 0)?;
    // The interval starts at the first packet, so its bytes do not count.
    let counted = bytes as f64 * f64::from(transfer.packets - 1) / f64::from(transfer.packets);
    Some((counted * 8e9 / ns as f64).round() as u64)
}

fn slowest(id: CommunicatorId, paths: &BTreeMap<(IpAddr, IpAddr), Path<'_>>) -> Vec<Finding> {
    let comparable = paths.iter().filter(|(_, path)| path.rates.len() >= MESSAGES);
    let figures = |path: &Path<'_>| {
        let rates = || path.rates.iter().copied();
        Some([upper_median(rates())?, upper_quartile(rates())?])
    };
    let all: Vec<_> =
        comparable.filter_map(|(ports, path)| Some((*ports, path, figures(path)?))).collect();
    if all.len() < PATHS {
        return Vec::new();
    }
    let found = all.iter().filter_map(|(ports, path, [rate, quick])| {
        let others = |at: usize| {
            let others = all.iter().filter(|(other, ..)| other != ports);
            lower_median(others.map(|(.., figures)| figures[at]))
        };
        let is_below = |rate: u64, others: u64| (rate as f64) < SLOW * others as f64;
        let (others, quick_others) = (others(0)?, others(1)?);
        let is_slow = is_below(*rate, others) && is_below(*quick, quick_others);
        is_slow.then(|| finding(id, *ports, path, [*rate, others]))
    });
    found.collect()
}

fn finding(
    id: CommunicatorId,
    (sender, receiver): (IpAddr, IpAddr),
    path: &Path<'_>,
    [rate_bps, others_bps]: [u64; 2],
) -> Finding {
    let claim = PaceClaim::SlowPath { sender, receiver, ranks: path.ranks, rate_bps, others_bps };
    let messages = FrameObservation::Messages(path.rates.len() as u64);
    let rank = path.ranks.map(|(_, to)| to);
    KIND.finding(Severity::Warning, claim)
        .about(Subject { communicator: Some(id), rank, port: Some(receiver), ..Subject::default() })
        .over(path.span)
        .because(Proof::frames(messages, path.longest.map(|transfer| transfer.witness)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports of the paths that are slow, of paths whose messages have these rates in turn.
    fn slow(rates: [[u64; 4]; 4]) -> Vec<Option<IpAddr>> {
        let address = |host: u8| IpAddr::from([10, 0, 0, host]);
        let path = |(host, rates): (u8, [u64; 4])| {
            let rates = rates.into_iter().cycle().take(MESSAGES).collect();
            ((address(host), address((host + 1) % 4)), Path { rates, ..Path::default() })
        };
        let paths = (0..).zip(rates).map(path).collect();
        let found = slowest(CommunicatorId(0), &paths);
        found.into_iter().map(|finding| finding.subject.port).collect()
    }

    #[test]
    fn a_slow_link_is_slow_for_every_message() {
        let quick = [900, 1000, 1000, 1100];
        let busy = [80, 100, 120, 1000];
        let port = |host| Some(IpAddr::from([10, 0, 0, host]));
        assert_eq!(slow([quick, [300, 310, 320, 330], quick, quick]), [port(2)]);
        assert_eq!(slow([quick, quick, [300, 310, 320, 330], busy]), [port(3)]);
        // A host that is busy delays some messages, not all.
        assert_eq!(slow([quick, busy, quick, quick]), []);
        assert_eq!(slow([quick; 4]), []);
    }

    #[test]
    fn of_few_paths_most_must_be_quicker() {
        // Of three others, two are as slow.
        let (quick, slowish) = ([1000; 4], [500; 4]);
        assert_eq!(slow([quick, [300; 4], slowish, slowish]), []);
    }
}
