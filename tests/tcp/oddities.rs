//! What real and hostile connections do besides sending bytes in order.

use std::net::SocketAddr;

use railscope_core::flow::tcp_stream::sink::Ending;
use railscope_core::flow::tcp_stream::streams::TcpConfig;

use crate::support::streams::{Feed, Recorded, Sent, Stretch};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

fn end(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], port))
}

/// A segment of host 1, port 40000, to host 2, port 29500.
fn client(sequence: u32, payload: &[u8]) -> Sent {
    Sent {
        source: end(1, 40_000),
        destination: end(2, 29_500),
        sequence,
        acknowledgment: None,
        flags: 0,
        payload: payload.to_vec(),
        cut: 0,
    }
}

/// A segment in the other direction.
fn server(sequence: u32, acknowledgment: u32, payload: &[u8]) -> Sent {
    let Sent { source, destination, .. } = client(0, &[]);
    Sent {
        source: destination,
        destination: source,
        acknowledgment: Some(acknowledgment),
        ..client(sequence, payload)
    }
}

fn syn(sequence: u32) -> Sent {
    Sent { flags: SYN, ..client(sequence, &[]) }
}

fn syn_ack(sequence: u32, acknowledgment: u32) -> Sent {
    Sent { flags: SYN, ..server(sequence, acknowledgment, &[]) }
}

fn run(segments: &[Sent]) -> Vec<Recorded> {
    let mut feed = Feed::new(TcpConfig::default());
    for segment in segments {
        feed.send(segment);
    }
    feed.finish()
}

fn bytes(bytes: &[u8]) -> Stretch {
    Stretch::Bytes(bytes.to_vec())
}

#[test]
fn a_syn_or_its_answer_identifies_the_client() {
    let from_answer = run(&[syn_ack(500, 101), client(101, b"ab")]);
    assert_eq!(from_answer[0].connection.client, end(1, 40_000));
    assert!(from_answer[0].connection.is_from_start);
    assert_eq!(from_answer[0].client, [bytes(b"ab")]);
    let from_data = run(&[server(500, 101, b"x"), client(101, b"ab")]);
    assert_eq!(from_data[0].connection.client, end(2, 29_500), "first seen");
    assert!(!from_data[0].connection.is_from_start);
}

#[test]
fn both_ends_may_connect_at_once() {
    let other_syn = Sent { acknowledgment: None, ..syn_ack(900, 0) };
    let recorded =
        run(&[syn(100), other_syn, syn_ack(900, 101), client(101, b"a"), server(901, 102, b"b")]);
    assert_eq!(recorded.len(), 1);
    assert_eq!(
        (&recorded[0].client, &recorded[0].server),
        (&vec![bytes(b"a")], &vec![bytes(b"b")])
    );
}

#[test]
fn data_in_the_syn_is_the_first_data() {
    let recorded = run(&[Sent { flags: SYN, ..client(100, b"fast") }, client(105, b" open")]);
    assert_eq!(recorded[0].client, [bytes(b"fast open")]);
}

#[test]
fn a_keep_alive_is_no_data() {
    let probe = client(102, b"\0");
    let recorded = run(&[syn(100), client(101, b"ab"), probe.clone(), probe, client(103, b"c")]);
    assert_eq!(recorded[0].client, [bytes(b"abc")]);
}

#[test]
fn an_acknowledged_byte_that_was_not_captured_is_a_gap_at_once() {
    let mut feed = Feed::new(TcpConfig::default());
    for segment in [syn(100), client(101, b"ab"), server(1, 108, &[])] {
        feed.send(&segment);
    }
    assert_eq!(feed.recorder.connections[0].client, [bytes(b"ab"), Stretch::Gap(5)]);
    feed.send(&client(108, b"c"));
    assert_eq!(feed.finish()[0].client, [bytes(b"ab"), Stretch::Gap(5), bytes(b"c")]);
}

#[test]
fn what_the_snap_length_cut_is_a_gap() {
    let recorded = run(&[
        syn(100),
        Sent { cut: 3, ..client(101, b"ab") },
        client(106, b"c"),
        // A buffered segment is cut too.
        Sent { cut: 1, ..client(108, b"e") },
        client(107, b"d"),
    ]);
    let expected = [bytes(b"ab"), Stretch::Gap(3), bytes(b"cde"), Stretch::Gap(1)];
    assert_eq!(recorded[0].client, expected);
}

#[test]
fn the_first_copy_of_a_byte_counts() {
    let recorded = run(&[syn(100), client(103, b"CD"), client(101, b"abxyef"), client(107, b"g")]);
    assert_eq!(recorded[0].client, [bytes(b"abCDefg")]);
}

#[test]
fn a_reset_ends_a_connection_and_late_segments_open_no_other() {
    let reset = Sent { flags: RST, ..server(1, 102, &[]) };
    let recorded = run(&[syn(100), client(101, b"a"), reset, client(102, b"b"), client(103, b"c")]);
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].ending, Some(Ending::Reset));
    assert_eq!(recorded[0].client, [bytes(b"a")]);
}

#[test]
fn both_directions_must_end_with_a_fin() {
    let fin = Sent { flags: FIN, ..client(101, b"bye") };
    let half_closed = [syn(100), syn_ack(500, 101), fin, server(501, 105, b"more")];
    assert_eq!(run(&half_closed)[0].ending, Some(Ending::CaptureEnd));
    let last = Sent { flags: FIN, ..server(505, 105, &[]) };
    let closed = run(&[&half_closed[..], &[last]].concat());
    assert_eq!(closed[0].ending, Some(Ending::Finished));
    assert_eq!(
        closed[0].client,
        [bytes(b"bye")],
        "the FIN's sequence number is not a missing byte"
    );
}

#[test]
fn a_syn_with_another_number_is_a_new_connection() {
    let again =
        run(&[syn(100), syn(100), client(101, b"a"), syn(100), syn(7_000), client(7_001, b"b")]);
    assert_eq!(again.len(), 2);
    assert_eq!(again[0].ending, Some(Ending::Replaced));
    assert_eq!(again[1].client, [bytes(b"b")]);
}

#[test]
fn a_port_that_rested_carries_a_new_connection_even_if_its_syn_was_lost() {
    let mut feed = Feed::new(TcpConfig::default());
    feed.send(&syn(100));
    feed.send(&Sent { flags: RST, ..client(101, &[]) });
    feed.time = feed.time.plus_nanos(61_000_000_000);
    feed.send(&client(77, b"new"));
    let recorded = feed.finish();
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded[1].client, [bytes(b"new")]);
}

#[test]
fn a_reset_without_a_connection_and_a_bare_ack_open_none() {
    let reset = Sent { flags: RST, ..client(100, &[]) };
    assert!(run(&[reset, server(1, 100, &[])]).is_empty());
}

#[test]
fn segments_far_outside_the_window_are_dropped_until_they_persist() {
    let far = 101 + (1 << 30) + 5_000;
    let mut feed = Feed::new(TcpConfig::default());
    feed.send(&syn(100));
    feed.send(&client(101, b"a"));
    feed.send(&client(far, b"stray"));
    feed.send(&client(102, b"b"));
    assert_eq!(feed.streams.counts().stray_segments, 1);
    assert_eq!(feed.recorder.connections[0].client, [bytes(b"ab")]);
    for at in 0..8 {
        feed.send(&client(far + at, &[at as u8]));
    }
    let gap = Stretch::Gap(u64::from(far + 7 - 103));
    assert_eq!(feed.finish()[0].client, [bytes(b"ab"), gap, bytes(&[7])]);
}

#[test]
fn a_direction_that_waits_too_long_gives_up() {
    let config = TcpConfig { held_bytes_per_direction: 1_000, ..TcpConfig::default() };
    let mut feed = Feed::new(config);
    feed.send(&syn(100));
    for at in 0..20 {
        feed.send(&client(111 + at * 100, &[at as u8; 100]));
    }
    assert_eq!(feed.streams.counts().hold_overflows, 1);
    assert_eq!(feed.recorder.connections[0].client[0], Stretch::Gap(10));
}

#[test]
fn connections_that_wait_too_long_together_give_up() {
    let config = TcpConfig { held_bytes: 1_000, ..TcpConfig::default() };
    let mut feed = Feed::new(config);
    for port in 0..20 {
        let segment = Sent { source: end(1, 1_000 + port), ..client(111, &[1; 100]) };
        feed.send(&Sent { flags: SYN, payload: Vec::new(), sequence: 100, ..segment.clone() });
        feed.send(&segment);
    }
    assert_eq!(feed.streams.counts().hold_overflows, 20 - 1_000 / 164);
    assert_eq!(feed.recorder.connections[0].client[0], Stretch::Gap(10));
    assert!(feed.recorder.connections[19].client.is_empty(), "still buffered");
}

#[test]
fn the_longest_silent_connection_makes_room() {
    let config = TcpConfig { connection_capacity: 2, ..TcpConfig::default() };
    let mut feed = Feed::new(config);
    for port in [1, 2, 1, 3, 1] {
        feed.send(&Sent { source: end(1, port), ..syn(100) });
    }
    assert_eq!(feed.streams.counts().evicted_connections, 1);
    let recorded = feed.finish();
    let endings: Vec<_> = recorded.iter().map(|one| one.ending).collect();
    let [evicted, left] = [Some(Ending::Evicted), Some(Ending::CaptureEnd)];
    assert_eq!(endings, [left, evicted, left]);
}

#[test]
fn after_enough_nothing_is_kept_and_everything_counted() {
    let mut feed = Feed::new(TcpConfig::default());
    feed.recorder.enough_after = Some(2);
    let late = client(104, b"d");
    for segment in [syn(100), client(101, b"ab"), client(105, b"ef"), client(103, b"c"), late] {
        feed.send(&segment);
    }
    feed.send(&server(1, 112, &[]));
    let recorded = feed.finish();
    assert_eq!(recorded[0].client, [bytes(b"ab")]);
    let totals = recorded[0].totals.unwrap().client;
    assert_eq!((totals.bytes, totals.missing_bytes, totals.gaps), (11, 0, 0));
}

/// As kernel programs report a long stream: the headers of one segment per mebibyte.
#[test]
fn headers_that_are_far_apart_count_what_lies_between() {
    let mut feed = Feed::new(TcpConfig::default());
    feed.recorder.enough_after = Some(2);
    for segment in [syn(99), client(100, b"ab")] {
        feed.send(&segment);
    }
    const MILES: u32 = 5_000;
    for mile in 1..=MILES {
        let headers = client(100_u32.wrapping_add(mile << 20), b"");
        feed.send(&Sent { cut: 1000, ..headers });
    }
    assert_eq!(feed.streams.counts().stray_segments, 0);
    let recorded = feed.finish();
    assert_eq!(recorded[0].client, [bytes(b"ab")]);
    let totals = recorded[0].totals.unwrap().client;
    let all = (u64::from(MILES) << 20) + 1000;
    assert_eq!((totals.bytes, totals.missing_bytes, totals.gaps), (all, 0, 0));
}

const SECOND: u64 = 1_000_000_000;

/// How often the client's data was sent again without an answer.
fn tries(segments: &[(u64, Sent)]) -> Option<u64> {
    let mut feed = Feed::new(TcpConfig::default());
    for (after_ns, segment) in segments {
        feed.time = feed.time.plus_nanos(*after_ns);
        feed.send(segment);
    }
    feed.finish()[0].totals.unwrap().client.unanswered.map(|one| one.tries)
}

#[test]
fn data_that_is_sent_again_without_an_answer_is_counted() {
    let (data, again) = (client(101, b"abc"), |after_ns| (after_ns, client(104, b"def")));
    let opened = [(0, syn(100)), (0, syn_ack(500, 101)), (0, data), (0, server(501, 104, &[]))];
    let with = |more: &[(u64, Sent)]| tries(&[&opened[..], more].concat());
    assert_eq!(with(&[again(0)]), None);
    // A copy at the tap, or what was asked for.
    assert_eq!(with(&[again(0), again(SECOND / 1000)]), None);
    assert_eq!(with(&[again(0), again(SECOND), again(2 * SECOND)]), Some(2));
    // Any answer is one: of a window of 0, too.
    let alive = (SECOND, server(501, 104, &[]));
    assert_eq!(with(&[again(0), again(SECOND), again(SECOND), alive]), None);
    let new = (SECOND, client(107, b"ghi"));
    assert_eq!(with(&[again(0), again(SECOND), new]), None);
}

/// The tap does not see what answers.
#[test]
fn one_direction_alone_shows_no_missing_answer() {
    let again = (SECOND, client(101, b"abc"));
    assert_eq!(tries(&[(0, syn(100)), again.clone(), again.clone(), again]), None);
}
