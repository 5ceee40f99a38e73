//! Titles about loss, resends, refusals and headers that the transport checks.

use super::super::name;
use super::super::number::{count, counted, share};
use crate::analysis::finding::claim::transport::TransportClaim;

pub(super) fn title(claim: &TransportClaim) -> String {
    match claim {
        TransportClaim::Lost { missing, late, resent, frames, flows } => {
            let again = match resent {
                0 => "none sent again".to_owned(),
                _ => format!(
                    "{} sent again ({})",
                    counted(*resent, "packet"),
                    share(*resent, *frames)
                ),
            };
            let flows = name::group(flows);
            let missing_first = format!("{} missing at first sight", count(*missing));
            match (missing, late) {
                (0, _) => format!("resends: {again} on {flows}; no hole was seen"),
                (_, 0) => format!("loss: {missing_first}, {again} on {flows}"),
                _ => format!("loss or reordering: {missing_first}, {again} on {flows}"),
            }
        }
        TransportClaim::NicSequenceNaks { nic, naks } => {
            let naks = counted(*naks, "NAK");
            format!("loss: {} received {naks} for missing packets", name::nic(nic))
        }
        TransportClaim::NicGaps { nic, gaps } => {
            format!("loss or reordering: {} saw {}", name::nic(nic), counted(*gaps, "gap"))
        }
        TransportClaim::TimedOut { resends, flows, is_link_down } => format!(
            "timeouts: {} after silence on {}{}",
            counted(*resends, "resend"),
            name::group(flows),
            if *is_link_down { "; its link went down" } else { "" }
        ),
        TransportClaim::NicTimers { nic, timers } => {
            format!("timeouts: {} of {} expired", counted(*timers, "ACK timer"), name::nic(nic))
        }
        TransportClaim::NotReady { naks, flows } => format!(
            "receiver not ready: {} on {}: no receive buffer was posted",
            counted(*naks, "RNR NAK"),
            name::group(flows)
        ),
        TransportClaim::NicNotReady { nic, naks } => {
            let naks = counted(*naks, "RNR NAK");
            format!("receiver not ready: {} received {naks}", name::nic(nic))
        }
        TransportClaim::Refused { naks, flows, reason } => {
            let (naks, flows) = (counted(*naks, "NAK"), name::group(flows));
            format!("refused: {naks} on {flows}: {}", refusal(reason))
        }
        TransportClaim::Reordered { late, flows } => {
            format!("reordering: {} overtaken on {}", counted(*late, "packet"), name::group(flows))
        }
        TransportClaim::WrongIcrc { wrong, checked, flows } => format!(
            "ICRC wrong on {} of {} of {}",
            count(*wrong),
            counted(*checked, "whole frame"),
            name::group(flows)
        ),
        TransportClaim::PartitionKeys { own, other, flows } => format!(
            "P_Key mismatch: {own:#06x} against {other:#06x} on {}: the receiver drops these \
             packets",
            name::group(flows)
        ),
        TransportClaim::PathMtu { own, wanted, is_expected, flows } => {
            let instead = if *is_expected { "expected is" } else { "others have" };
            format!("path MTU {own} on {}; {instead} {wanted}", name::group(flows))
        }
        TransportClaim::SmallMtu { mtu, flows } => {
            let flows = counted(*flows, "flow");
            format!("path MTU {mtu} everywhere ({flows}): the interfaces' MTU is 1500")
        }
    }
}

fn refusal(reason: &str) -> &'static str {
    match reason {
        "remote_access_error" => "remote access error (bad R_Key, address or permission)",
        "invalid_request" => "invalid request",
        "remote_operational_error" => "remote operational error",
        "invalid_rd_request" => "invalid RD request",
        _ => "reserved syndrome",
    }
}
