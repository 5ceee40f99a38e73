//! Connections of a few messages, seen at one tap or two.

use std::net::IpAddr;

use super::super::record::DataStart;
use super::*;
use crate::flow::key::FlowKey;
use crate::model::qpn::Qpn;

const SENDER: [u8; 4] = [10, 0, 0, 1];
const RECEIVER: [u8; 4] = [10, 0, 0, 2];
const KEY: u32 = 0xabcd;
const FIFO: u64 = 0x7000_0000;

fn flow(tap: u32, from: [u8; 4], to: [u8; 4], qpn: u32) -> FlowTraffic {
    let address = |octets: [u8; 4]| IpAddr::from(octets).into();
    let key = FlowKey {
        tap: TapId(tap),
        source: address(from),
        destination: address(to),
        dest_qpn: Qpn::new(qpn),
    };
    let (data, cts) = (Series::default(), Series::default());
    FlowTraffic { key, epoch: 0, data, cts, forgotten: None, refused: None, open_write: None }
}

fn data(tap: u32, qpn: u32, messages: &[DataRecord]) -> FlowTraffic {
    let mut flow = flow(tap, SENDER, RECEIVER, qpn);
    messages.iter().for_each(|message| flow.data.push(*message));
    flow
}

fn control(tap: u32, offers: &[CtsRecord]) -> FlowTraffic {
    let mut flow = flow(tap, RECEIVER, SENDER, 0x11);
    offers.iter().for_each(|offer| flow.cts.push(*offer));
    flow
}

/// A message whose packets pass from `time` to `time + 10`.
fn message(time: u64, last_psn: i64, address: u64, bytes: u32) -> DataRecord {
    DataRecord {
        start: Some(DataStart {
            first: Timestamp::from_nanos(time),
            address,
            remote_key: KEY,
            bytes,
            head: None,
        }),
        last: Timestamp::from_nanos(time + 10),
        last_psn,
        immediate: Some(bytes.swap_bytes()),
        ce_packets: 0,
        number: 7,
    }
}

fn offer(time: u64, index: u64, address: u64) -> CtsRecord {
    let cts = crate::decode::nccl::cts::Cts {
        address,
        capacity: 0x1000,
        remote_keys: [KEY, 0, 0, 0],
        requests: Some(1),
        tag: Some(3),
        number: Some(index),
    };
    let slot = FIFO + (index - 1) % FIFO_SLOTS * FIFO_STRIDE;
    CtsRecord::new(&cts, slot, (Timestamp::from_nanos(time), 6))
}

fn view<'a>(
    position: Position,
    data: &[(u8, &'a FlowTraffic)],
    control: &'a FlowTraffic,
) -> ConnectionView<'a> {
    ConnectionView { position, data: data.to_vec(), control: vec![control] }
}

fn numbers(found: &Transfers) -> Vec<(u64, Option<u64>)> {
    found.transfers.iter().map(|transfer| (transfer.number, transfer.bytes)).collect()
}

#[test]
fn an_address_is_offered_again_and_again() {
    let cts = control(0, &[offer(10, 41, 0x100), offer(110, 42, 0x100), offer(210, 43, 0x100)]);
    let sent = data(0, 5, &[message(50, 0, 0x100, 64), message(150, 1, 0x100, 32)]);
    let found = assemble(&[view(Position::Sender, &[(0, &sent)], &cts)], None);
    assert_eq!(numbers(&found), [(41, Some(64)), (42, Some(32))]);
    assert_eq!((found.matched, found.unmatched), (2, 0));
    let second = found.transfers[1];
    assert!(second.is_numbered);
    assert_eq!(second.cts.and_then(|cts| cts.arrived), Some(Timestamp::from_nanos(110)));
    assert_eq!((second.received, second.packets), (None, 1), "nothing was seen at the receiver");
}

#[test]
fn two_taps_see_the_same_messages() {
    let at_sender = control(0, &[offer(20, 1, 0x100)]);
    let at_receiver = control(1, &[offer(10, 1, 0x100)]);
    let sent = data(0, 5, &[message(50, 3, 0x100, 64)]);
    let received = data(1, 5, &[message(60, 3, 0x100, 64)]);
    let views = [
        view(Position::Sender, &[(0, &sent)], &at_sender),
        view(Position::Receiver, &[(0, &received)], &at_receiver),
    ];
    let found = assemble(&views, None);
    assert_eq!(numbers(&found), [(1, Some(64))]);
    let transfer = found.transfers[0];
    let times = |span: Option<Span>| span.map(|span| (span.first.as_nanos(), span.last.as_nanos()));
    assert_eq!((times(transfer.sent), times(transfer.received)), (Some((50, 60)), Some((60, 70))));
    let cts = transfer.cts.unwrap();
    assert_eq!(
        cts.posted.zip(cts.arrived).map(|(a, b)| (a.as_nanos(), b.as_nanos())),
        Some((10, 20))
    );
    assert_eq!(transfer.packets, 4, "the same packets twice are not twice as many");
}

#[test]
fn parts_on_two_queue_pairs_are_one_message() {
    let cts = control(0, &[offer(10, 1, 0x100)]);
    let first = data(0, 5, &[message(50, 0, 0x100, 128)]);
    let second = data(0, 6, &[message(51, 0, 0x180, 72)]);
    let found = assemble(&[view(Position::Receiver, &[(0, &first), (1, &second)], &cts)], None);
    assert_eq!(numbers(&found), [(1, Some(200))]);
}

#[test]
fn a_lost_cts_leaves_the_number_to_the_neighbours() {
    let cts = control(0, &[offer(10, 7, 0x100), offer(210, 9, 0x300)]);
    let sent = [message(50, 0, 0x100, 1), message(150, 1, 0x200, 2), message(250, 2, 0x300, 3)];
    let sent = data(0, 5, &sent);
    let found = assemble(&[view(Position::Sender, &[(0, &sent)], &cts)], None);
    assert_eq!(numbers(&found), [(7, Some(1)), (8, Some(2)), (9, Some(3))]);
    assert_eq!((found.matched, found.unmatched), (2, 1));
}

#[test]
fn a_number_beyond_the_snap_length_is_derived_from_the_slot() {
    let cut = |index| CtsRecord { index: None, ..offer(index * 100, index, 0x100) };
    let offers: Vec<CtsRecord> = (1..=600).map(cut).collect();
    let cts = control(0, &offers);
    let messages: Vec<DataRecord> =
        (1..=600).map(|index| message(index * 100 + 50, index as i64, 0x100, 8)).collect();
    let sent = data(0, 5, &messages);
    let found = assemble(&[view(Position::Sender, &[(0, &sent)], &cts)], Some(FIFO));
    assert!(found.transfers.iter().map(|transfer| transfer.number).eq(1..=600));
}

#[test]
fn without_any_cts_messages_are_counted() {
    let cts = control(0, &[]);
    let sent = data(0, 5, &[message(50, 9, 0x100, 1), message(150, 12, 0x200, 2)]);
    let found = assemble(&[view(Position::Sender, &[(0, &sent)], &cts)], None);
    assert_eq!(numbers(&found), [(1, Some(1)), (2, Some(2))]);
    assert!(!found.transfers[0].is_numbered);
}

#[test]
fn a_tap_that_began_one_turn_later_is_put_on_the_same_line() {
    let none = [control(0, &[]), control(1, &[])];
    let turn = PSN_CIRCLE;
    let early = data(0, 5, &[message(50, turn - 1, 0x100, 1), message(150, turn, 0x100, 2)]);
    let late = data(1, 5, &[message(160, 0, 0x100, 2)]);
    let views = [
        view(Position::Sender, &[(0, &early)], &none[0]),
        view(Position::Receiver, &[(0, &late)], &none[1]),
    ];
    let found = assemble(&views, None);
    assert_eq!(numbers(&found), [(1, Some(1)), (2, Some(2))]);
    assert!(found.transfers[1].received.is_some());
}

#[test]
fn a_message_without_its_start_has_the_size_of_its_immediate() {
    let cts = control(0, &[]);
    let headless = DataRecord { start: None, ..message(150, 1, 0, 77) };
    let sent = data(0, 5, &[message(50, 0, 0x100, 1000), headless]);
    let found = assemble(&[view(Position::Sender, &[(0, &sent)], &cts)], None);
    assert_eq!(numbers(&found), [(1, Some(1000)), (2, Some(77))]);
}

/// CTSs are kept for longer than the data that answered them.
#[test]
fn dropped_data_has_answered() {
    let offers: Vec<CtsRecord> = (1..=4).map(|at| offer(100 * at, at, 0x1000 * at)).collect();
    let control = control(0, &offers);
    let mut flow = data(0, 0x22, &[]);
    let unanswered = |flow: &FlowTraffic| {
        let found = assemble(&[view(Position::Receiver, &[(0, flow)], &control)], Some(FIFO));
        found.unanswered.map_or(0, |waiting| waiting.count)
    };
    assert_eq!(unanswered(&flow), 4);
    // The third CTS and all before it; the fourth came before the data did.
    flow.forgotten = Some(message(450, 30, 0x3000, 0x1000));
    assert_eq!(unanswered(&flow), 1);
    // Whatever it answered, all that came before it.
    flow.forgotten = Some(DataRecord { start: None, ..message(450, 30, 0x3000, 0x1000) });
    assert_eq!(unanswered(&flow), 0);
    // There was no room for it.
    (flow.forgotten, flow.refused) = (None, Some(Timestamp::from_nanos(350)));
    assert_eq!(unanswered(&flow), 1);
}
