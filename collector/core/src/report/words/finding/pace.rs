//! Titles about the pace of ranks, rings and paths.

use std::net::IpAddr;

use super::super::name;
use super::super::number::{bit_rate, counted, duration, share};
use super::super::straggler;
use crate::analysis::finding::claim::pace::{PaceClaim, Suspects};

pub(super) fn title(claim: &PaceClaim) -> String {
    match claim {
        PaceClaim::Straggler { rank, host, collectives, iterations, total_ns, most_ns, cause } => {
            let host = host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
            let iterations = match iterations {
                0 => String::new(),
                some => format!(" in {}", counted(*some, "training step")),
            };
            let held_up = match collectives {
                1 => format!("1 collective for {}", duration(*total_ns)),
                more => format!(
                    "{}{iterations}, {} in total, up to {} each",
                    counted(*more, "collective"),
                    duration(*total_ns),
                    duration(*most_ns)
                ),
            };
            let why = straggler::cause(*cause).clause;
            format!("straggler: rank {rank}{host} held up {held_up}: {why}")
        }
        PaceClaim::Stalled { communicator, suspects, silence_ns } => {
            let who = match suspects {
                Suspects::NeverPosted(ranks) => {
                    format!("{} neither sent nor requested data", name::ranks(ranks))
                }
                Suspects::NeverSent(ranks) => format!("{} did not send", name::ranks(ranks)),
                Suspects::Unknown => "the rank that hangs is unknown".to_owned(),
            };
            let communicator = name::known_communicator(*communicator);
            let silence = duration(*silence_ns);
            format!("stalled collective on {communicator}: {who}; no data for the last {silence}")
        }
        PaceClaim::SocketStalled { communicator, sender, receiver, tries, silence_ns } => {
            let communicator = name::known_communicator(*communicator);
            let silence = duration(*silence_ns);
            let end = |(address, rank): (IpAddr, Option<u32>)| {
                format!(
                    "{address}{}",
                    rank.map_or_else(String::new, |rank| format!(" (rank {rank})"))
                )
            };
            let (sender, receiver) = (end(*sender), end(*receiver));
            match tries {
                0 => format!(
                    "stalled socket on {communicator}: {receiver} has taken no data from {sender} for \
                     {silence} (TCP window 0)"
                ),
                _ => format!(
                    "stalled socket on {communicator}: {receiver} has not acknowledged data from \
                     {sender} for {silence} ({})",
                    counted(*tries, "timeout")
                ),
            }
        }
        PaceClaim::RingCrossings { communicator, crossings, needed, rings, channels } => format!(
            "rings of {} cross hosts {} instead of {needed} ({rings} of {})",
            name::known_communicator(*communicator),
            counted(*crossings, "time"),
            counted(*channels, "channel")
        ),
        PaceClaim::SlowPath { sender, receiver, ranks, rate_bps, others_bps } => format!(
            "slow path: {sender} → {receiver}{} carries messages at {}, other paths at {}",
            name::rank_pair(*ranks),
            bit_rate(*rate_bps as f64),
            bit_rate(*others_bps as f64)
        ),
        PaceClaim::UnevenRails { rail, load } => format!(
            "uneven rails: rail {rail} carries {} of the data of {} rails (Jain index {:.2})",
            share(load.bytes, load.of_bytes),
            load.paths,
            load.jain_index
        ),
        PaceClaim::HotUplink { name, load } => format!(
            "hot uplink: {name} carries {} of the traffic of {} uplinks (Jain index {:.2})",
            share(load.bytes, load.of_bytes),
            load.paths,
            load.jain_index
        ),
    }
}
