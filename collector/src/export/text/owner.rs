//! Whose a flow is, in a few words.

use super::communicator_names::CommunicatorNames;
use railscope_core::report::flows::FlowReport;

/// `0 → 1 ch0 data`, behind its communicator where there are several; nothing where it is nobody's.
pub(in crate::export) fn name(flow: &FlowReport, names: CommunicatorNames) -> String {
    let Some(owner) = &flow.owner else { return String::new() };
    let Some(communicator) = &owner.communicator else { return String::new() };
    let rank = |rank: Option<u32>| rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
    let ranks = format!("{} → {}", rank(owner.rank), rank(owner.peer_rank));
    let channel = owner.channel.map(|channel| format!("ch{channel}")).unwrap_or_default();
    let role = owner.role.unwrap_or_default().to_owned();
    let words = [names.where_needed(communicator), ranks, channel, role];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
