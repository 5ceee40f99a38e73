//! Titles about loss, retransmission, rejected requests, and header fields that the receiver checks.

use super::super::name;
use super::super::number::{count, counted, share};
use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::naming::Common;

pub(super) fn title(claim: &TransportClaim) -> String {
    match claim {
        TransportClaim::Lost { missing, late, resent, frames, flows } => {
            let again = match resent {
                0 => "none retransmitted".to_owned(),
                _ => format!("{} retransmitted ({})", count(*resent), share(*resent, *frames)),
            };
            let flows = name::group(flows);
            let gaps = format!("{} missing", counted(*missing, "packet"));
            match (missing, late) {
                (0, _) => format!(
                    "retransmissions on {flows}: {} ({}), no gap seen",
                    counted(*resent, "packet"),
                    share(*resent, *frames)
                ),
                (_, 0) => format!("loss on {flows}: {gaps}, {again}"),
                _ => format!("loss or reordering on {flows}: {gaps}, {again}"),
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
            "timeouts on {}: {}{}",
            name::group(flows),
            counted(*resends, "ACK timeout"),
            if *is_link_down { "; a link went down" } else { "" }
        ),
        TransportClaim::NicTimers { nic, timers } => {
            format!("timeouts: {} expired on {}", counted(*timers, "ACK timer"), name::nic(nic))
        }
        TransportClaim::LinkWentDown { nic, times, is_down } => format!(
            "the link of {} went down{}{}",
            name::nic(nic),
            if *times == 1 { String::new() } else { format!(" {}", counted(*times, "time")) },
            if *is_down { ", and is down" } else { "" }
        ),
        TransportClaim::NotReady { naks, flows } => format!(
            "receiver not ready on {}: {}, no receive posted",
            name::group(flows),
            counted(*naks, "RNR NAK")
        ),
        TransportClaim::InError { rank, host, failed, of } => {
            let host = host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
            format!(
                "{} of {} of rank {rank}{host} in error",
                count(*failed),
                counted(*of, "queue pair")
            )
        }
        TransportClaim::NicNotReady { nic, naks } => {
            let naks = counted(*naks, "RNR NAK");
            format!("receiver not ready: {} received {naks}", name::nic(nic))
        }
        TransportClaim::Refused { naks, flows, reason } => {
            let (naks, flows) = (counted(*naks, "NAK"), name::group(flows));
            format!("request rejected on {flows}: {naks}, {}", refusal(reason))
        }
        TransportClaim::Reordered { late, flows } => {
            format!(
                "reordering on {}: {} out of order",
                name::group(flows),
                counted(*late, "packet")
            )
        }
        TransportClaim::WrongIcrc { wrong, checked, flows } => format!(
            "wrong ICRC on {}: {} of {}",
            name::group(flows),
            count(*wrong),
            counted(*checked, "whole frame")
        ),
        TransportClaim::PartitionKeys { own, other, flows } => format!(
            "P_Key mismatch on {}: {own:#06x} sent, the receiver uses {other:#06x} and drops these \
             packets",
            name::group(flows)
        ),
        TransportClaim::PathMtu { own, wanted, is_expected, flows } => {
            let instead = if *is_expected { "expected:" } else { "other flows have" };
            format!("path MTU {own} on {}, {instead} {wanted}", name::group(flows))
        }
        TransportClaim::PathMtuMismatch { here, there, flows } => {
            let ends = match flows.common {
                Common::Flow(_) => format!("the sender uses {here}, the receiver {there}"),
                Common::Port { .. } => format!("it uses {here}, its peers {there}"),
                Common::Nothing { .. } => format!("one end uses {here}, the other {there}"),
            };
            format!("path MTU mismatch on {}: {ends}", name::group(flows))
        }
        TransportClaim::SmallMtu { mtu, flows } => {
            let flows = counted(*flows, "flow");
            format!("path MTU {mtu} everywhere ({flows}): the interfaces probably have MTU 1500")
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
