//! Titles about congestion, and the header fields that switches act on.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::super::evidence::dscps;
use super::super::name;
use super::super::number::{counted, share};
use crate::analysis::finding::claim::congestion::{CongestionClaim, DscpUse};

pub(super) fn title(claim: &CongestionClaim) -> String {
    match claim {
        CongestionClaim::Congested { marks, packets, cnps, flows, uplinks, incast_senders } => {
            let marked =
                || format!("{} CE-marked ({})", counted(*marks, "packet"), share(*marks, *packets));
            let what = match (marks, cnps) {
                (0, _) => format!("{} to the senders", counted(*cnps, "CNP")),
                (_, 0) => marked(),
                _ => format!("{}, {}", marked(), counted(*cnps, "CNP")),
            };
            let mut place = name::group(flows);
            if !uplinks.is_empty() {
                place.push_str(&format!(" over {}", uplinks.join(" and ")));
            }
            match incast_senders {
                Some(senders) => format!("incast of {senders} senders on {place}: {what}"),
                None => format!("congestion on {place}: {what}"),
            }
        }
        CongestionClaim::NicMarked { nic, marks, packets } => {
            let of = packets
                .map_or_else(String::new, |packets| format!(" ({})", share(*marks, packets)));
            let marks = counted(*marks, "packet");
            format!("congestion on the path to {}: {marks} CE-marked{of}", name::nic(nic))
        }
        CongestionClaim::MarksUnanswered { marks, flows } => {
            format!("no CNP for {} on {}", counted(*marks, "CE mark"), name::group(flows))
        }
        CongestionClaim::NicSentNoCnp { nic, marks } => {
            format!("{} sent no CNP for {}", name::nic(nic), counted(*marks, "CE mark"))
        }
        CongestionClaim::NotSlowed { cnps, flows } => {
            format!("no slowdown after {} on {}", counted(*cnps, "CNP"), name::group(flows))
        }
        CongestionClaim::NicIgnoredCnps { nic, cnps } => {
            format!("{} ignored {}", name::nic(nic), counted(*cnps, "CNP"))
        }
        CongestionClaim::NoNicSlowed { cnps } => {
            format!("{} sent, but no NIC slowed down", counted(*cnps, "CNP"))
        }
        CongestionClaim::EcnCleared { flows } => {
            let flows = name::group(flows);
            format!(
                "ECN cleared on the path of {flows}: ECN-capable at one tap, Not-ECT at another"
            )
        }
        CongestionClaim::NotEct { flows } => {
            format!("RoCE data is Not-ECT on {}: switches cannot mark it", name::group(flows))
        }
        CongestionClaim::NothingEct { flows } => {
            let flows = counted(*flows, "flow");
            format!("all RoCE data ({flows}) is Not-ECT: switches cannot mark it")
        }
        CongestionClaim::DscpsDiffer(classes) => {
            let classes: Vec<String> = classes.iter().map(dscp_use).collect();
            format!("traffic classes differ: {}", classes.join(", "))
        }
        CongestionClaim::WrongDscp { own, wanted, flows } => {
            let flows = name::group(flows);
            format!("wrong traffic class on {flows}: DSCP {own}, expected: {wanted}")
        }
        CongestionClaim::DscpRewritten { seen, flows } => {
            let (seen, flows) = (dscps(seen), name::group(flows));
            format!("DSCP rewritten on the path of {flows}: {seen} at different taps")
        }
    }
}

/// `DSCP 0 from 10.0.0.2 (rank 1)`, `DSCP 26 from 3 ports (ranks 0, 2 and 3)`.
fn dscp_use(class: &DscpUse) -> String {
    let DscpUse { dscp, ports } = class;
    let addresses: BTreeSet<IpAddr> = ports.iter().map(|(port, _)| *port).collect();
    let ranks: BTreeSet<u32> = ports.iter().filter_map(|(_, rank)| *rank).collect();
    let ranks: Vec<u32> = ranks.into_iter().collect();
    let ranks =
        if ranks.is_empty() { String::new() } else { format!(" ({})", name::ranks(&ranks)) };
    let from = match addresses.first() {
        Some(only) if addresses.len() == 1 => only.to_string(),
        _ => counted(addresses.len() as u64, "port"),
    };
    format!("DSCP {dscp} from {from}{ranks}")
}
