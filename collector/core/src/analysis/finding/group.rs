//! Flows with the same trouble, grouped by the port that they have in common: a bad cable or a full
//! queue affects every flow through it, and is one finding.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::subject::Subject;
use crate::analysis::queue_pair::QueuePair;
use crate::model::time::Span;

/// With trouble on more ports than this, all flows form one group.
const PORTS: usize = 3;
/// Share of the trouble below which a port gets no group of its own.
const MINOR: f64 = 0.1;

/// Which end of its flows a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The receiving end.
    Receives,
    /// The sending end.
    Sends,
}

/// Affected flows, the worst first, each with its amount.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The port that they have in common, and its end of the flows (`None` for either end); `None`
    /// without a common port.
    pub port: Option<(IpAddr, Option<End>)>,
    /// Each flow with its amount (packets, marks, ...), the largest first.
    pub flows: Vec<(&'a QueuePair, u64)>,
}

/// The flows for which `amount` is not 0, by the port that they have in common.
pub fn by_port<'a>(
    flows: impl IntoIterator<Item = &'a QueuePair>,
    amount: impl Fn(&QueuePair) -> u64,
) -> Vec<Group<'a>> {
    by_ends(&[End::Receives, End::Sends], flows, amount)
}

/// The flows for which `amount` is not 0: those of each of `ports`, whichever end it is, and the
/// others by the port that they have in common.
pub fn by_known_ports<'a>(
    ports: &[IpAddr],
    flows: impl IntoIterator<Item = &'a QueuePair>,
    amount: impl Fn(&QueuePair) -> u64,
) -> Vec<Group<'a>> {
    let mut rest: Vec<&QueuePair> = flows.into_iter().collect();
    let mut groups = Vec::new();
    for port in ports {
        let (of_port, others) =
            rest.into_iter().partition(|flow| [flow.source, flow.destination].contains(port));
        rest = others;
        let flows = sick(of_port, &amount);
        if !flows.is_empty() {
            groups.push(Group { port: Some((*port, None)), flows });
        }
    }
    groups.extend(by_port(rest, amount));
    groups
}

/// The flows for which `amount` is not 0, by the port that sends them: for what only a sender
/// decides.
pub fn by_sender<'a>(
    flows: impl IntoIterator<Item = &'a QueuePair>,
    amount: impl Fn(&QueuePair) -> u64,
) -> Vec<Group<'a>> {
    by_ends(&[End::Sends], flows, amount)
}

fn by_ends<'a>(
    ends: &[End],
    flows: impl IntoIterator<Item = &'a QueuePair>,
    amount: impl Fn(&QueuePair) -> u64,
) -> Vec<Group<'a>> {
    let sick = sick(flows, amount);
    let total = sum(&sick);
    let mut groups = Vec::new();
    let mut rest = sick.clone();
    while let Some((port, end)) = commonest(&rest, ends) {
        // Too little is left for a group with a port of its own.
        if sum(&rest) as f64 <= MINOR * total as f64 {
            groups.push(Group { port: None, flows: rest });
            break;
        }
        if groups.len() == PORTS {
            return vec![Group { port: None, flows: sick }];
        }
        let (of_port, others) = rest.into_iter().partition(|(flow, _)| at(flow, end) == port);
        groups.push(Group { port: Some((port, Some(end))), flows: of_port });
        rest = others;
    }
    groups
}

/// The flows for which `amount` is not 0, the worst first.
fn sick<'a>(
    flows: impl IntoIterator<Item = &'a QueuePair>,
    amount: impl Fn(&QueuePair) -> u64,
) -> Vec<(&'a QueuePair, u64)> {
    let weighed = flows.into_iter().map(|flow| (flow, amount(flow)));
    let mut sick: Vec<(&QueuePair, u64)> = weighed.filter(|(_, amount)| *amount > 0).collect();
    sick.sort_by_key(|(flow, amount)| (std::cmp::Reverse(*amount), flow.at));
    sick
}

fn sum(flows: &[(&QueuePair, u64)]) -> u64 {
    flows.iter().fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
}

/// The port with most of the trouble, at one of these ends; at equal amounts, the receiving end.
fn commonest(flows: &[(&QueuePair, u64)], ends: &[End]) -> Option<(IpAddr, End)> {
    let mut sums: BTreeMap<(IpAddr, End), (u64, usize)> = BTreeMap::new();
    for (flow, amount) in flows {
        for &end in ends {
            let (sum, count) = sums.entry((at(flow, end), end)).or_default();
            *sum = sum.saturating_add(*amount);
            *count += 1;
        }
    }
    let most = sums.into_iter().max_by_key(|((port, end), (sum, count))| {
        (*sum, *count, std::cmp::Reverse(*end), std::cmp::Reverse(*port))
    });
    most.map(|(port, _)| port)
}

fn at(flow: &QueuePair, end: End) -> IpAddr {
    match end {
        End::Receives => flow.destination,
        End::Sends => flow.source,
    }
}

impl Group<'_> {
    /// The sum of its flows' amounts.
    #[must_use]
    pub fn sum(&self) -> u64 {
        sum(&self.flows)
    }

    /// The sum of something over its flows.
    #[must_use]
    pub fn total(&self, of: impl Fn(&QueuePair) -> u64) -> u64 {
        self.flows.iter().fold(0, |sum, (flow, _)| sum.saturating_add(of(flow)))
    }

    /// The flow with the largest amount.
    #[must_use]
    pub fn worst(&self) -> Option<&QueuePair> {
        self.flows.first().map(|(flow, _)| *flow)
    }

    /// Places of the flows, the worst first.
    #[must_use]
    pub fn places(&self) -> Vec<u32> {
        self.flows.iter().map(|(flow, _)| flow.at).collect()
    }

    /// From the first frame of its flows to the last.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        let spans = || self.flows.iter().map(|(flow, _)| flow.span);
        Some(Span {
            first: spans().map(|span| span.first).min()?,
            last: spans().map(|span| span.last).max()?,
        })
    }

    /// The subject: the port, its rank if only one rank uses it, and the worst flow.
    #[must_use]
    pub fn subject(&self) -> Subject {
        let port = self.port.map(|(port, _)| port);
        let ranks: Option<Vec<_>> = self
            .flows
            .iter()
            .map(|(flow, _)| {
                let owner = flow.owner?;
                let is_sender = port == Some(flow.source);
                let rank = if is_sender { owner.sender } else { owner.receiver };
                Some((owner.communicator, rank))
            })
            .collect();
        let first = ranks.as_ref().and_then(|ranks| ranks.first()).copied();
        let only = |is_same: &dyn Fn(&(_, Option<u32>)) -> bool| {
            ranks.as_ref().is_some_and(|ranks| ranks.iter().all(is_same))
        };
        let communicator = first.map(|(id, _)| id).filter(|id| only(&|(other, _)| other == id));
        let rank = first.and_then(|(_, rank)| rank).filter(|_| {
            communicator.is_some() && self.port.is_some() && only(&|one| Some(*one) == first)
        });
        Subject {
            communicator,
            rank,
            flow: self.worst().map(|flow| flow.at),
            port,
            iteration: None,
        }
    }
}
