//! Titles about congestion, and the header fields that switches go by.

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
                place.push_str(&format!(", over {}", uplinks.join(" and ")));
            }
            match incast_senders {
                Some(senders) => format!("incast: {what} on {place} from {senders} senders"),
                None => format!("congestion: {what} on {place}"),
            }
        }
        CongestionClaim::NicMarked { nic, marks, packets } => {
            let of = packets
                .map_or_else(String::new, |packets| format!(" ({})", share(*marks, packets)));
            let marks = counted(*marks, "packet");
            format!("congestion: {marks} CE-marked{of} arrived at {}", name::nic(nic))
        }
        CongestionClaim::MarksUnanswered { marks, flows } => {
            format!("no CNP answers {} on {}", counted(*marks, "CE mark"), name::group(flows))
        }
        CongestionClaim::NicSentNoCnp { nic, marks } => {
            format!("{} sent no CNP for {}", name::nic(nic), counted(*marks, "CE mark"))
        }
        CongestionClaim::NotSlowed { cnps, flows } => {
            format!("not slowed down by {}: {}", counted(*cnps, "CNP"), name::group(flows))
        }
        CongestionClaim::NicIgnoredCnps { nic, cnps } => {
            format!("{} ignored {}", name::nic(nic), counted(*cnps, "CNP"))
        }
        CongestionClaim::NoNicSlowed { cnps } => {
            format!("no NIC was slowed down by the {} that were sent", counted(*cnps, "CNP"))
        }
        CongestionClaim::EcnCleared { flows } => {
            let flows = name::group(flows);
            format!("{flows} without ECN bits behind the tap that saw them ECN-capable")
        }
        CongestionClaim::NotEct { flows } => {
            format!("{} with RoCE data that is Not-ECT", name::group(flows))
        }
        CongestionClaim::NothingEct { flows } => {
            let flows = counted(*flows, "flow");
            format!("{flows} with RoCE data, all of it Not-ECT: switches cannot mark it")
        }
        CongestionClaim::WrongDscp { own, wanted, is_expected, flows } => {
            let instead = if *is_expected { "expected is" } else { "the other ports use" };
            let flows = name::group(flows);
            format!("wrong traffic class: DSCP {own} on {flows}; {instead} {wanted}")
        }
        CongestionClaim::DscpRewritten { seen, flows } => {
            let (seen, flows) = (dscps(seen), name::group(flows));
            format!("DSCP rewritten on the path: {seen} at different taps on {flows}")
        }
    }
}
