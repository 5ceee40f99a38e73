//! The owner of each flow, and the purpose of each TCP connection. A flow counts once per tap that saw
//! it.

use super::cell::{Cell, Column, Tally};
use super::matching::{End, Matching};
use super::report::Owner;

/// Columns about flows and TCP connections.
pub(super) fn columns(matching: &Matching<'_>) -> Vec<Column> {
    let [mut data, mut control, mut channels, mut proven] = [Tally::default(); 4];
    let mut foreign = 0;
    for flow in &matching.report.flows {
        let owner = flow.owner.as_ref().filter(|owner| owner.rank.is_some());
        let Some(end) = matching.end(&flow.src, &flow.dst, flow.dest_qpn) else {
            foreign += u64::from(owner.is_some());
            continue;
        };
        let is_right = owner.map(|owner| is_owner(matching, end, owner));
        let tally = if end.is_receiver { &mut data } else { &mut control };
        tally.count(is_right);
        if is_right == Some(true) {
            let channel = owner.and_then(|owner| owner.channel);
            channels.count(channel.map(|channel| channel == end.connection.channel));
        }
        if let Some(owner) = owner {
            proven.count((owner.grade == "proven").then_some(is_right == Some(true)));
        }
    }
    vec![
        ("data flows", data.into()),
        ("control flows", control.into()),
        ("channel", channels.into()),
        ("proven", proven.into()),
        ("foreign", Cell::Faults(foreign)),
        ("TCP streams", streams(matching).into()),
    ]
}

fn is_owner(matching: &Matching<'_>, end: &End<'_>, owner: &Owner) -> bool {
    let Some(communicator) = &owner.communicator else { return false };
    let world_rank = |rank: Option<u32>| matching.world_rank(communicator, rank?);
    let (rank, peer) = end.ranks();
    matching.communicator(communicator) == Some(end.connection.comm)
        && world_rank(owner.rank) == Some(rank)
        && world_rank(owner.peer_rank) == Some(peer)
        && owner.role.as_deref() == Some(end.role())
}

/// TCP connections whose purpose the truth knows.
fn streams(matching: &Matching<'_>) -> Tally {
    let mut tally = Tally::default();
    let known = matching.truth.streams();
    for stream in &matching.report.tcp_streams {
        let is_it = |listener: &str, connector: &str| {
            known.iter().find(|known| {
                known.listener == listener
                    && known.connector.as_ref().is_none_or(|known| known == connector)
            })
        };
        let known = is_it(&stream.dst, &stream.src).or_else(|| is_it(&stream.src, &stream.dst));
        if let Some(known) = known {
            tally.count((stream.kind != "other").then_some(stream.kind == known.kind));
        }
    }
    tally
}
