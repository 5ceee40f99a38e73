//! Invariants of every report, whatever was captured.

use railscope::export::json as export;
use railscope_core::report::Report;
use railscope_core::report::flows::{EcnReport, FlowReport, PsnReport};

/// Panics if an invariant does not hold.
pub fn check(report: &Report) {
    let capture = &report.capture;
    let known = capture.roce_frames + capture.tcp_frames + capture.pfc_frames;
    assert_eq!(capture.frames, known + capture.other_frames);
    assert_eq!(capture.frames, report.taps.iter().map(|tap| tap.frames).sum::<u64>());
    assert!(capture.captured_bytes <= capture.wire_bytes);
    assert!(capture.truncated_frames <= capture.frames);

    let duplicates: u64 = report.taps.iter().map(|tap| tap.tap_duplicates).sum();
    let evicted = report.health.get("flow.evicted_frames").copied().unwrap_or(0);
    let in_flows: u64 = report.flows.iter().map(|flow| flow.frames).sum();
    assert_eq!(in_flows + duplicates + evicted, capture.roce_frames, "every RoCE frame is counted");

    for (index, flow) in report.flows.iter().enumerate() {
        assert_eq!(flow.id as usize, index);
        check_flow(flow);
        check_reverse(report, flow);
    }
}

/// The report as railscope prints it.
pub fn json(report: &Report) -> String {
    let mut bytes = Vec::new();
    assert!(export::write(report, &mut bytes).is_ok(), "a write to memory succeeds");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sums within one flow.
fn check_flow(flow: &FlowReport) {
    let frames = flow.frames;
    assert!(flow.first_ns <= flow.last_ns || frames == 0);
    assert_eq!(flow.opcodes.iter().map(|(_, count)| count).sum::<u64>(), frames);
    assert_eq!(ecn_sum(&flow.ecn), frames);
    assert!(flow.outer_ecn.as_ref().is_none_or(|outer| ecn_sum(outer) <= frames));
    // A tally lists a limited number of values; the report omits the rest.
    for tally in [&flow.partition_keys, &flow.udp_src_ports, &flow.dscp] {
        assert!(tally.iter().map(|(_, count)| count).sum::<u64>() <= frames);
    }
    let messages = &flow.messages;
    let ended = messages.send + messages.write + messages.write_with_immediate;
    assert!(ended + messages.read + messages.atomic <= frames);
    let naks = &flow.naks;
    let refused = naks.psn_sequence_error
        + naks.invalid_request
        + naks.remote_access_error
        + naks.remote_operational_error
        + naks.invalid_rd_request
        + naks.reserved;
    assert!(flow.acks + refused + flow.rnr_naks + flow.cnps <= frames);
    assert!(flow.icrc.bad <= flow.icrc.checked && flow.icrc.checked <= frames);
    check_psn(&flow.psn, frames);
    let resent: u64 = flow.episodes.iter().map(|episode| episode.resent_packets).sum();
    assert!(resent <= flow.psn.retransmitted_packets.unwrap_or(0), "{resent} resent");
    if let Some(round_trip) = &flow.ack_rtt_ns {
        assert!(round_trip.p50 <= round_trip.p99 && round_trip.p99 <= round_trip.max);
        assert!(round_trip.samples > 0);
    }
    if let Some(reaction) = &flow.cnp_reaction {
        assert!(reaction.slowed <= reaction.samples);
    }
}

fn check_psn(psn: &PsnReport, frames: u64) {
    let counts = [psn.out_of_order_packets, psn.retransmitted_packets, psn.ambiguous_packets];
    // Every packet except the first is at most one of these.
    assert!(counts.iter().flatten().sum::<u64>() <= frames.saturating_sub(1), "{psn:?}");
    // Only skipped PSNs can be missing.
    let missing = psn.uncaptured_packets.zip(psn.unresolved_packets);
    if let Some((uncaptured, unresolved)) = missing {
        assert!(psn.gap_packets.is_some_and(|gap| uncaptured + unresolved <= gap), "{psn:?}");
    }
    assert_eq!(psn.first.is_some(), psn.space.is_some());
}

/// Two flows are each other's reverse: same hosts, same tap.
fn check_reverse(report: &Report, flow: &FlowReport) {
    let Some(reverse) = &flow.reverse else { return };
    let other = &report.flows[reverse.flow as usize];
    assert_eq!(other.reverse.as_ref().map(|back| back.flow), Some(flow.id));
    assert_eq!((&other.src, &other.dst, other.tap), (&flow.dst, &flow.src, flow.tap));
    assert_eq!(reverse.dest_qpn, other.dest_qpn);
    assert!(flow.id != other.id);
}

fn ecn_sum(ecn: &EcnReport) -> u64 {
    ecn.not_ect + ecn.ect0 + ecn.ect1 + ecn.ce.unwrap_or(0)
}
