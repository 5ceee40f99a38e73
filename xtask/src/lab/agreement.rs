//! Checks for every case, whatever its fault: railscope agrees with tshark packet by packet, and with
//! the counters of rxe, which retransmits by itself on a slow machine.

use super::analysis::Flow;
use super::case::{Case, HOSTS, Tap, addresses};
use super::facts::Facts;

/// Whether a host's device counts every packet that arrives: it stops when its queue pair is gone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    Stays,
    Goes,
}

pub(super) fn check(case: &Case, receiver: Receiver, facts: &mut Facts) {
    for host in HOSTS {
        facts.about(format!("{} at host {host}", case.name));
        with_tshark(case, host, facts);
        with_counters(case, host, receiver, facts);
    }
}

fn with_tshark(case: &Case, host: usize, facts: &mut Facts) {
    let tap = &case.taps[host];
    let capture = &tap.report.capture;
    facts.equal("frames", capture.frames, tap.wire.frames());
    facts.equal("RoCE frames", capture.roce_frames, tap.wire.frames());
    facts.equal("refused", &capture.refused, &[].into());
    facts.equal("flows", tap.report.tallies(), tap.wire.tallies());
    let sequences = tap.wire.sequences();
    let own = addresses(host);
    for flow in &tap.report.flows {
        let what = |what: &str| format!("{what} of {:?}", flow.name());
        facts.equal(&what("ICRCs checked"), flow.icrc.checked, flow.frames);
        facts.equal(&what("ICRCs wrong"), flow.icrc.bad, 0);
        facts.equal(&what("CNPs"), flow.cnps, 0);
        facts.equal(&what("uncaptured"), flow.psn.uncaptured_packets.unwrap_or(0), 0);
        let Some(sequence) = sequences.get(&flow.name()) else { continue };
        // With READs, tshark's fields do not show which sequence numbers were skipped.
        let Some(skipped) = sequence.skipped() else { continue };
        facts.equal(&what("missing at first sight"), flow.psn.gap_packets, Some(skipped));
        if own.contains(&flow.src) {
            let resent = flow.psn.retransmitted_packets;
            facts.equal(&what("sent again"), resent, Some(sequence.repeated));
        }
        facts.equal(&what("behind others"), behind(flow), sequence.repeated + sequence.late);
    }
}

/// Packets that arrived after a higher sequence number or twice.
fn behind(flow: &Flow) -> u64 {
    let psn = &flow.psn;
    let parts = [psn.out_of_order_packets, psn.retransmitted_packets, psn.ambiguous_packets];
    parts.into_iter().flatten().sum()
}

fn with_counters(case: &Case, host: usize, receiver: Receiver, facts: &mut Facts) {
    let count = |counter| case.counters.value(host, counter);
    let Tap { wire, report } = &case.taps[host];
    let own = addresses(host);
    let sent = wire.from(&own);
    facts.equal("captured of what rxe sent", sent, count("sent_pkts"));
    let received = wire.frames() - sent;
    // A retransmitted request may arrive after its queue pair is gone.
    if receiver == Receiver::Stays && case.retries() == 0 {
        facts.equal("captured of what rxe received", received, count("rcvd_pkts"));
    } else {
        facts.at_most("rcvd_pkts", count("rcvd_pkts"), received);
    }
    let sends = report.from(&own).map(|flow| flow.messages.send).sum();
    facts.equal("SENDs, against rdma_sends", sends, count("rdma_sends"));
    let tallies = report.tallies();
    let tallies = || tallies.iter().filter(|(name, _)| own.contains(&name.0)).map(|(_, t)| t);
    let naks = tallies().map(|tally| tally.sequence_naks).sum();
    facts.equal("sequence NAKs, against out_of_seq_request", naks, count("out_of_seq_request"));
    let rnr = tallies().map(|tally| tally.rnr_naks).sum();
    facts.equal("RNR NAKs, against send_rnr_err", rnr, count("send_rnr_err"));
    let recoveries = report.from(&own).flat_map(|flow| &flow.episodes).map(|e| e.count).sum();
    // Retransmissions after an RNR NAK are counted separately.
    let retries = count("completer_retry_err") + count("rcvd_rnr_err");
    facts.at_most("recoveries, against retries", recoveries, retries);
}
