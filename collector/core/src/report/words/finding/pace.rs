//! Titles about the pace of ranks, rings and paths.

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
                some => format!(" of {}", counted(*some, "training step")),
            };
            format!(
                "straggler: rank {rank}{host} held up {}{iterations}, {} in total, up to {} each: \
                 {}",
                counted(*collectives, "collective"),
                duration(*total_ns),
                duration(*most_ns),
                straggler::cause(*cause).clause
            )
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
