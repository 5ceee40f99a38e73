//! Titles about congestion, and the header fields that switches act on.

use super::super::evidence::dscps;
use super::super::name;
use super::super::number::{counted, share};
use crate::analysis::finding::claim::congestion::CongestionClaim;

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
        CongestionClaim::WrongDscp { own, wanted, is_expected, flows } => {
            let instead = if *is_expected { "expected:" } else { "other ports use" };
            let flows = name::group(flows);
            format!("wrong traffic class on {flows}: DSCP {own}, {instead} {wanted}")
        }
        CongestionClaim::DscpRewritten { seen, flows } => {
            let (seen, flows) = (dscps(seen), name::group(flows));
            format!("DSCP rewritten on the path of {flows}: {seen} at different taps")
        }
    }
}
