//! Titles about pause.

use super::super::name;
use super::super::number::{counted, duration, share};
use crate::analysis::finding::claim::pause::{PauseClaim, PauseSide, PauseTime, Station};

pub(super) fn title(claim: &PauseClaim) -> String {
    match claim {
        PauseClaim::Asked { station: who, times, paused, is_lossless } => {
            let sent = format!("{} sent {}", station(who), counted(*times, "pause frame"));
            match paused {
                Some(PauseTime { paused_ns, whole_ns }) => format!(
                    "pause: {sent}: {} paused, {} of the capture{}",
                    duration(*paused_ns),
                    share(*paused_ns, *whole_ns),
                    if *is_lossless { "; no packet lost" } else { "" }
                ),
                None => {
                    format!("pause: {sent}; pause time needs the line rate (--line-rate 100G)")
                }
            }
        }
        PauseClaim::Nic { nic, side, priority, paused, is_lossless } => {
            let what = match side {
                PauseSide::Sent => "paused its switch for",
                PauseSide::Received => "was paused for",
            };
            format!(
                "pause: {} {what} {}{}, {} of the time{}",
                name::nic(nic),
                duration(paused.paused_ns),
                priority.map_or_else(String::new, |one| format!(" on priority {one}")),
                share(paused.paused_ns, paused.whole_ns),
                if *is_lossless { "; no drops" } else { "" }
            )
        }
        PauseClaim::Storm { station: who, priority, longest_ns, storms } => format!(
            "PFC storm: {} kept {} paused for up to {}, {}",
            station(who),
            priority.map_or_else(|| "its link".to_owned(), |one| format!("priority {one}")),
            duration(*longest_ns),
            counted(*storms, "storm")
        ),
        PauseClaim::NicStalled { nic } => {
            format!("PFC storm: {} stalled and kept pausing its switch", name::nic(nic))
        }
        PauseClaim::NicStorm { nic, side, priority, length_ns } => {
            let what = match side {
                PauseSide::Sent => "paused its switch",
                PauseSide::Received => "was paused by its switch",
            };
            let priority = priority.map_or_else(String::new, |one| format!(" on priority {one}"));
            let (nic, length) = (name::nic(nic), duration(*length_ns));
            format!("PFC storm: {nic} {what} almost continuously for {length}{priority}")
        }
    }
}

fn station(Station { mac, port }: &Station) -> String {
    match port {
        Some(port) => format!("{mac} ({port})"),
        None => mac.to_string(),
    }
}
