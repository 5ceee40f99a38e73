//! The ranks and channel of a queue pair, in a few words.

use super::communicator_names::CommunicatorNames;
use railscope_core::report::queue_pairs::QueuePairReport;

/// `0 → 1 ch0 data`, after the communicator if there are several; empty without an owner.
pub(in crate::export) fn name(of: &QueuePairReport, names: CommunicatorNames) -> String {
    let Some(communicator) = &of.communicator else { return String::new() };
    let rank = |rank: Option<u32>| rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
    let ranks = format!("{} → {}", rank(of.rank), rank(of.peer_rank));
    let channel = of.channel.map(|channel| format!("ch{channel}")).unwrap_or_default();
    let role = of.role.unwrap_or_default().to_owned();
    let words = [names.where_needed(communicator), ranks, channel, role];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
