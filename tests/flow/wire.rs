//! One queue pair over a wire that loses and reorders packets, tapped before and after that.

use proptest::prelude::*;

use super::{Seen, see};
use crate::support::wire::{
    Identification, Operation, REQUESTER_QPN, RESPONDER_QPN, Scenario, TapPlace, Truth, play,
};

fn mtu() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![256, 512, 1024, 2048, 4096])
}

fn first_psn() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 0..0x100_0000_u32, 0xff_ff00..0x100_0000_u32]
}

fn identification() -> impl Strategy<Value = Identification> {
    prop_oneof![
        Just(Identification::Zero),
        Just(Identification::Absent),
        any::<u16>().prop_map(Identification::Rising),
        (0xff00..=0xffff_u16).prop_map(Identification::Rising),
    ]
}

fn operation(max_bytes: u32) -> impl Strategy<Value = Operation> {
    let bytes = prop_oneof![0..300_u32, 0..max_bytes];
    (0..2_u8, bytes).prop_map(|(kind, bytes)| match kind {
        0 => Operation::Send(bytes),
        _ => Operation::Write(bytes),
    })
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(12_000), 8..60)
}

fn with_reads() -> impl Strategy<Value = Vec<Operation>> {
    let read = prop_oneof![0..5_000_u32, 0..200_000_u32].prop_map(Operation::Read);
    prop::collection::vec(prop_oneof![operation(6_000), read], 1..20)
}

fn scenario(operations: impl Strategy<Value = Vec<Operation>>) -> impl Strategy<Value = Scenario> {
    let tap = prop::sample::select(vec![TapPlace::Before, TapPlace::After]);
    (operations, mtu(), first_psn(), identification(), tap, any::<u64>()).prop_map(
        |(operations, mtu, first_psn, identification, tap, seed)| Scenario {
            // The first message is acknowledged before any fault: round trips distinguish a copy
            // that the tap saw twice from a retransmission.
            operations: [&[Operation::Send(1)], operations.as_slice()].concat(),
            mtu,
            first_psn,
            identification,
            tap,
            lost_per_mille: 0,
            late_per_mille: 0,
            seed,
        },
    )
}

fn run(scenario: &Scenario) -> (Truth, Seen) {
    let truth = play(scenario);
    let seen = see(&truth.frames);
    (truth, seen)
}

/// The counts of a flow's packets by class.
fn classes(seen: &Seen, qpn: u32) -> [u64; 6] {
    let psn = &seen.flow_to(qpn).psn;
    [
        psn.gap_packets,
        psn.out_of_order_packets,
        psn.retransmitted_packets,
        psn.ambiguous_packets,
        psn.uncaptured_packets,
        psn.unresolved_packets,
    ]
    .map(Option::unwrap)
}

/// Each message is there once, with the right size if its size is known; returns how many have no
/// size.
fn check_messages(scenario: &Scenario, seen: &Seen) -> Result<usize, TestCaseError> {
    let mut first_psn = 0;
    let mut expected = Vec::new();
    for operation in &scenario.operations {
        let (Operation::Send(bytes) | Operation::Write(bytes) | Operation::Read(bytes)) = operation;
        let packets = i64::from(bytes.div_ceil(scenario.mtu).max(1));
        let is_read = matches!(operation, Operation::Read(_));
        let last_psn = first_psn + if is_read { 0 } else { packets - 1 };
        expected.push((last_psn, first_psn, u64::from(*bytes)));
        first_psn += packets;
    }
    let counts = &seen.flow_to(RESPONDER_QPN).messages;
    let total = counts.send + counts.write + counts.read;
    prop_assert_eq!(total, expected.len() as u64);
    prop_assert_eq!(seen.messages.len(), expected.len());
    let mut without_size = 0;
    let mut messages: Vec<_> = seen.messages.iter().map(|(_, message)| message).collect();
    messages.sort_by_key(|message| message.first_psn);
    for message in messages {
        let Some(bytes) = message.bytes else {
            without_size += 1;
            prop_assert!(expected.iter().any(|(last, ..)| *last == message.first_psn));
            continue;
        };
        let same =
            |(_, first, size): &(i64, i64, u64)| *first == message.first_psn && *size == bytes;
        prop_assert!(expected.iter().any(same), "{message:?} of {expected:?}");
    }
    Ok(without_size)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_clean_wire_shows_no_disorder(scenario in scenario(with_reads())) {
        let (truth, seen) = run(&scenario);
        prop_assert_eq!(classes(&seen, RESPONDER_QPN), [0; 6]);
        let flow = seen.flow_to(RESPONDER_QPN);
        prop_assert_eq!(flow.frames, truth.seen);
        prop_assert!(flow.episodes.is_empty());
        prop_assert_eq!(seen.report.taps[0].tap_duplicates, 0);
        prop_assert_eq!(seen.report.capture.frames, truth.frames.len() as u64);
        prop_assert_eq!(check_messages(&scenario, &seen)?, 0);
        let back = seen.flow_to(REQUESTER_QPN);
        prop_assert_eq!(back.reverse.as_ref().map(|reverse| reverse.flow), Some(flow.id));
        if scenario.tap == TapPlace::Before
            && let (Some(measured), Some((min, max))) = (&flow.ack_rtt_ns, truth.round_trips)
        {
            prop_assert!(measured.p50 >= min && measured.max <= max, "{measured:?} {min} {max}");
        }
    }

    #[test]
    fn a_tap_before_the_loss_counts_every_retransmission(
        mut scenario in scenario(operations()),
        lost_per_mille in 0..80_u64,
        late_per_mille in 0..80_u64,
    ) {
        scenario.tap = TapPlace::Before;
        scenario.lost_per_mille = lost_per_mille;
        scenario.late_per_mille = late_per_mille;
        let (truth, seen) = run(&scenario);
        let flow = seen.flow_to(RESPONDER_QPN);
        let copies = truth.sent - flow.frames;
        let again = truth.sent_again - copies;
        prop_assert_eq!(classes(&seen, RESPONDER_QPN), [0, 0, again, 0, 0, 0]);
        if matches!(scenario.identification, Identification::Rising(_)) {
            // Without identifications, an immediate third transmission counts as a copy.
            prop_assert_eq!(copies, 0);
        }
        let resent: u64 = flow.episodes.iter().map(|episode| episode.resent_packets).sum();
        prop_assert_eq!(resent, again);
        prop_assert_eq!(check_messages(&scenario, &seen)?, 0);
        if let (Some(measured), Some((min, max))) = (&flow.ack_rtt_ns, truth.round_trips)
            && copies == 0
        {
            prop_assert!(measured.p50 >= min && measured.max <= max, "{measured:?} {min} {max}");
        }
    }

    #[test]
    fn after_a_loss_gaps_are_a_lower_bound(
        mut scenario in scenario(operations()),
        lost_per_mille in 0..80_u64,
    ) {
        scenario.tap = TapPlace::After;
        scenario.lost_per_mille = lost_per_mille;
        let (truth, seen) = run(&scenario);
        let [gap, late, again, ambiguous, uncaptured, unresolved] = classes(&seen, RESPONDER_QPN);
        prop_assert!(gap <= truth.lost, "{gap} of {}", truth.lost);
        prop_assert!(again <= truth.sent_again);
        prop_assert_eq!([ambiguous, uncaptured, unresolved], [0; 3]);
        if matches!(scenario.identification, Identification::Rising(_)) {
            prop_assert_eq!(late, 0, "by the identifications, no packet is late");
        }
        prop_assert_eq!(seen.flow_to(RESPONDER_QPN).frames, truth.seen);
        check_messages(&scenario, &seen)?;
    }

    #[test]
    fn after_lost_reads_nothing_stays_open(
        mut scenario in scenario(with_reads()),
        lost_per_mille in 0..150_u64,
    ) {
        scenario.tap = TapPlace::After;
        scenario.lost_per_mille = lost_per_mille;
        // It reveals the path MTU, and so the number of PSNs that a READ takes.
        scenario.operations.insert(1, Operation::Send(2 * scenario.mtu));
        let (truth, seen) = run(&scenario);
        let [gap, _, again, ambiguous, uncaptured, unresolved] = classes(&seen, RESPONDER_QPN);
        prop_assert!(gap <= truth.lost, "{gap} of {}", truth.lost);
        prop_assert!(again <= truth.sent_again);
        prop_assert_eq!([ambiguous, uncaptured, unresolved], [0; 3]);
        check_messages(&scenario, &seen)?;
    }

    #[test]
    fn late_and_lost_packets_are_distinguished_by_identifications(
        mut scenario in scenario(operations()),
        start: u16,
        lost_per_mille in 0..40_u64,
        late_per_mille in 1..60_u64,
    ) {
        scenario.tap = TapPlace::After;
        scenario.identification = Identification::Rising(start);
        scenario.lost_per_mille = lost_per_mille;
        scenario.late_per_mille = late_per_mille;
        let (truth, seen) = run(&scenario);
        let [_, late, again, _, uncaptured, unresolved] = classes(&seen, RESPONDER_QPN);
        prop_assert!(again <= truth.sent_again + truth.late);
        prop_assert!(late <= truth.late, "{late} of {}", truth.late);
        prop_assert_eq!([uncaptured, unresolved], [0; 2]);
        prop_assert_eq!(seen.flow_to(RESPONDER_QPN).frames, truth.seen);
        check_messages(&scenario, &seen)?;
    }

    #[test]
    fn a_tap_that_sees_everything_twice_counts_it_once(
        mut scenario in scenario(operations()),
        lost_per_mille in 0..40_u64,
    ) {
        scenario.identification = Identification::Rising(7);
        scenario.lost_per_mille = lost_per_mille;
        let truth = play(&scenario);
        let once = see(&truth.frames);
        let twice: Vec<_> = truth
            .frames
            .iter()
            .flat_map(|(time, frame)| [(*time, frame.clone()), (time + 40, frame.clone())])
            .collect();
        let twice = see(&twice);
        prop_assert_eq!(twice.report.taps[0].tap_duplicates, truth.frames.len() as u64);
        for qpn in [REQUESTER_QPN, RESPONDER_QPN] {
            prop_assert_eq!(twice.flow_to(qpn).frames, once.flow_to(qpn).frames);
            prop_assert_eq!(classes(&twice, qpn), classes(&once, qpn));
        }
    }
}
