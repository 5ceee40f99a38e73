//! Two adapters without sockets over a simulated wire: with any fault, everything arrives once, in
//! order and whole, and everything is counted.

use std::net::IpAddr;

use proptest::prelude::*;
use railscope_drive::rdma::soft::Counters;
use railscope_drive::rdma::soft::batch::Batch;
use railscope_drive::rdma::soft::engine::{Arrival, Engine};
use railscope_drive::rdma::{Completion, Done, Region, Remote, Write};

const LATENCY: u64 = 10_000;
const SOURCE_PORT: u16 = 0xc123;
/// A run is stuck after this many events.
const PATIENCE: usize = 200_000;

/// Shares of packets that the wire damages, drops, delays, copies or marks.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    loss: f64,
    copies: f64,
    late: f64,
    damage: f64,
    marks: f64,
}

/// An adapter with its queue pair, memory and completions.
struct End {
    engine: Engine,
    address: IpAddr,
    qpn: u32,
    source: Region,
    target: Region,
    completions: Vec<Completion>,
}

/// Two adapters, and the packets in flight.
struct Wire {
    ends: [End; 2],
    now: u64,
    /// Arrival time, receiving end, traffic class, bytes.
    on_the_way: Vec<(u64, usize, u8, Vec<u8>)>,
    trouble: Trouble,
    rng: fastrand::Rng,
    damaged: u64,
    lost: u64,
}

/// Connects two more queue pairs to each other.
fn connect(ends: &mut [End; 2], mtu: u16, retries: u8) -> [u32; 2] {
    let qpns = ends.each_mut().map(|end| end.engine.create_queue_pair().unwrap());
    for here in 0..2 {
        let there = 1 - here;
        let IpAddr::V4(address) = ends[there].address else { unreachable!() };
        let (qpn, gid) = (qpns[there], address.to_ipv6_mapped().octets());
        let remote = Remote { qpn, gid, mtu, traffic_class: 2, timeout: 8, retries };
        ends[here].engine.connect(qpns[here], &remote, SOURCE_PORT).unwrap();
    }
    qpns
}

impl Wire {
    fn new(mtu: u16, retries: u8, trouble: Trouble, seed: u64) -> Self {
        let mut ends = [1, 2].map(|host| {
            let address = IpAddr::from([10, 0, 0, host]);
            let mut engine = Engine::new(address, 1.25e9, 64 << 10, seed + u64::from(host));
            let [source, target] = [(); 2].map(|()| engine.register(1 << 20));
            fastrand::Rng::with_seed(seed).fill(engine.memory_mut(source.id));
            End { engine, address, qpn: 0, source, target, completions: Vec::new() }
        });
        let qpns = connect(&mut ends, mtu, retries);
        (ends[0].qpn, ends[1].qpn) = (qpns[0], qpns[1]);
        let rng = fastrand::Rng::with_seed(seed);
        Self { ends, now: 0, on_the_way: Vec::new(), trouble, rng, damaged: 0, lost: 0 }
    }

    fn post_write(
        &mut self,
        from: usize,
        id: usize,
        offset: usize,
        bytes: usize,
        has_immediate: bool,
    ) {
        let target = self.ends[1 - from].target;
        let end = &mut self.ends[from];
        let write = Write {
            id: id as u64,
            region: end.source.id,
            offset,
            bytes,
            remote_address: target.address + offset as u64,
            rkey: target.rkey,
            immediate: has_immediate.then(|| (id as u32).to_be_bytes()),
        };
        end.engine.post_write(end.qpn, &write).unwrap();
    }

    fn post_receive(&mut self, at: usize, id: usize) {
        let end = &mut self.ends[at];
        end.engine.post_receive(end.qpn, id as u64).unwrap();
    }

    /// Lets both ends send what they may at this time.
    fn settle(&mut self) {
        let mut batch = Batch::default();
        for here in 0..2 {
            self.ends[here].engine.on_timer(self.now);
            while self.ends[here].engine.transmit(self.now, &mut batch) {
                for packet in batch.packets() {
                    self.carry(1 - here, packet.traffic_class, &packet.bytes);
                }
            }
            let end = &mut self.ends[here];
            end.completions.append(end.engine.completions());
        }
    }

    fn carry(&mut self, to: usize, mut traffic_class: u8, bytes: &[u8]) {
        if self.rng.f64() < self.trouble.loss {
            self.lost += 1;
            return;
        }
        if self.rng.f64() < self.trouble.marks && traffic_class & 3 != 0 {
            traffic_class |= 3;
        }
        let copies = if self.rng.f64() < self.trouble.copies { 2 } else { 1 };
        for _ in 0..copies {
            let mut bytes = bytes.to_vec();
            if self.rng.f64() < self.trouble.damage {
                // Any bit except those of the byte that routers may change.
                let at = self.rng.usize(..bytes.len() - 1);
                bytes[if at < 4 { at } else { at + 1 }] ^= 1 << self.rng.u8(..8);
                self.damaged += 1;
            }
            let late = self.rng.f64() < self.trouble.late;
            let delay = if late { self.rng.u64(..10 * LATENCY) } else { 0 };
            self.on_the_way.push((self.now + LATENCY + delay, to, traffic_class, bytes));
        }
    }

    /// Advances to the next event, at most to `until`; returns whether there is another event.
    fn advance(&mut self, until: Option<u64>) -> bool {
        let arrives = self.on_the_way.iter().map(|packet| packet.0).min();
        let now = self.now;
        let wakes = self.ends.each_mut().map(|end| end.engine.wakes_at(now));
        let times = [arrives, wakes[0], wakes[1], until];
        let Some(next) = times.into_iter().flatten().min() else { return false };
        self.now = next.max(now);
        let now = self.now;
        let (mut due, rest): (Vec<_>, _) =
            std::mem::take(&mut self.on_the_way).into_iter().partition(|packet| packet.0 <= now);
        self.on_the_way = rest;
        due.sort_by_key(|packet| packet.0);
        for (ns, to, traffic_class, bytes) in due {
            let from = self.ends[1 - to].address;
            let arrival =
                Arrival { from, source_port: SOURCE_PORT, traffic_class, ns, bytes: &bytes };
            self.ends[to].engine.receive(&arrival);
        }
        true
    }
}

/// Received packets that have been accounted for.
fn fates(counters: &Counters) -> u64 {
    counters.writes_accepted
        + counters.answers_accepted
        + counters.cnps_received
        + counters.duplicates
        + counters.refused
        + counters.stale_answers
        + counters.icrc_errors
        + counters.undeliverable
}

/// A message: its size in bytes, and whether it has immediate data.
type Message = (usize, bool);

fn exchange(
    mtu: u16,
    trouble: Trouble,
    seed: u64,
    messages: &[Vec<Message>; 2],
    receive_every: u64,
) -> Wire {
    let mut wire = Wire::new(mtu, 200, trouble, seed);
    for (from, messages) in messages.iter().enumerate() {
        let mut offset = 0;
        for (id, &(bytes, has_immediate)) in messages.iter().enumerate() {
            wire.post_write(from, id, offset, bytes, has_immediate);
            offset += bytes;
        }
    }
    let immediates = messages.each_ref().map(|all| all.iter().filter(|one| one.1).count());
    let total = messages.iter().map(Vec::len).sum::<usize>() + immediates.iter().sum::<usize>();
    let mut posted = [0; 2];
    let mut next_post = 0;
    for _ in 0..PATIENCE {
        if wire.now >= next_post {
            for at in 0..2 {
                if posted[at] < immediates[1 - at] {
                    wire.post_receive(at, posted[at]);
                    posted[at] += 1;
                }
            }
            next_post = wire.now + receive_every;
        }
        wire.settle();
        if wire.ends.iter().map(|end| end.completions.len()).sum::<usize>() >= total {
            return wire;
        }
        let has_posts = posted[0] < immediates[1] || posted[1] < immediates[0];
        assert!(wire.advance(has_posts.then_some(next_post)), "both ends wait forever");
    }
    panic!("stuck after {PATIENCE} events: {:?}", wire.ends.map(|end| end.engine.counters()));
}

fn all_has_come(wire: &Wire, messages: &[Vec<Message>; 2]) {
    for (from, messages) in messages.iter().enumerate() {
        let (here, there) = (&wire.ends[from], &wire.ends[1 - from]);
        let written = here.completions.iter().filter(|one| one.outcome == Ok(Done::Written));
        let written: Vec<_> = written.map(|one| one.id as usize).collect();
        assert_eq!(written, (0..messages.len()).collect::<Vec<_>>());

        let received = there.completions.iter().filter(|one| one.outcome != Ok(Done::Written));
        let received: Vec<_> = received.map(|one| (one.id, one.outcome.clone())).collect();
        let immediate = messages.iter().enumerate().filter(|(_, one)| one.1);
        let expected: Vec<_> = immediate
            .enumerate()
            .map(|(nth, (id, &(bytes, _)))| {
                let immediate = (id as u32).to_be_bytes();
                (nth as u64, Ok(Done::Received { immediate, bytes: bytes as u32 }))
            })
            .collect();
        assert_eq!(received, expected);

        let total = messages.iter().map(|one| one.0).sum::<usize>();
        let sent = &here.engine.memory(here.source.id)[..total];
        assert!(sent == &there.engine.memory(there.target.id)[..total], "received bytes differ");
        assert!(there.engine.memory(there.target.id)[total..].iter().all(|&byte| byte == 0));
    }
    let counters = wire.ends.each_ref().map(|end| end.engine.counters());
    for counters in &counters {
        assert_eq!(fates(counters), counters.packets_received);
        assert_eq!(counters.undeliverable, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn everything_arrives_once_in_order_and_whole(
        mtu in prop::sample::select(vec![256_u16, 1024]),
        (loss, copies, late) in (0.0..0.1, 0.0..0.1, 0.0..0.2),
        (damage, marks) in (0.0..0.05, 0.0..0.2),
        seed in any::<u32>(),
        there in prop::collection::vec((0_usize..6000, any::<bool>()), 0..20),
        back in prop::collection::vec((0_usize..600, any::<bool>()), 0..20),
        receive_every in 0_u64..200_000,
    ) {
        let trouble = Trouble { loss, copies, late, damage, marks };
        let messages = [there, back];
        let wire = exchange(mtu, trouble, u64::from(seed), &messages, receive_every);
        all_has_come(&wire, &messages);
    }
}

#[test]
fn nothing_is_retransmitted_on_a_good_wire() {
    let messages = [vec![(50_000, true); 10], vec![(64, false); 10]];
    let wire = exchange(1024, Trouble::default(), 1, &messages, 0);
    all_has_come(&wire, &messages);
    for end in &wire.ends {
        let Counters { retransmitted, timeouts, duplicates, refused, .. } = end.engine.counters();
        assert_eq!([retransmitted, timeouts, duplicates, refused], [0; 4]);
    }
    // 49 packets per message; fewer ACKs than packets.
    assert_eq!(wire.ends[1].engine.counters().writes_accepted, 490);
    assert!(wire.ends[1].engine.counters().packets_sent < 100);
}

#[test]
fn damage_is_found_by_the_icrc() {
    let messages = [vec![(20_000, true); 10], Vec::new()];
    let wire = exchange(256, Trouble { damage: 0.05, ..Trouble::default() }, 5, &messages, 0);
    all_has_come(&wire, &messages);
    let errors: u64 = wire.ends.iter().map(|end| end.engine.counters().icrc_errors).sum();
    let under_way = wire.on_the_way.len() as u64;
    assert!(wire.damaged > 10 && errors <= wire.damaged && errors + under_way >= wire.damaged);
}

#[test]
fn a_gap_is_answered_by_one_nak() {
    let mut wire = Wire::new(256, 7, Trouble::default(), 1);
    wire.post_write(0, 0, 0, 10 * 256, false);
    wire.settle();
    wire.on_the_way.remove(3);
    while wire.advance(None) {
        wire.settle();
    }
    assert_eq!(wire.ends[0].completions.len(), 1);
    let [sender, receiver] = wire.ends.each_ref().map(|end| end.engine.counters());
    assert_eq!((receiver.sequence_naks_sent, sender.sequence_naks_received), (1, 1));
    assert_eq!((receiver.refused, sender.retransmitted, sender.timeouts), (6, 7, 0));
}

#[test]
fn a_silent_peer_is_named_after_the_last_retry() {
    let mut wire = Wire::new(1024, 7, Trouble { loss: 1.0, ..Trouble::default() }, 1);
    wire.post_write(0, 0, 0, 5000, true);
    wire.post_write(0, 1, 5000, 1, true);
    wire.settle();
    while wire.advance(None) {
        wire.settle();
    }
    let qpn = wire.ends[1].qpn;
    let why = format!("retries exceeded: 10.0.0.2 QP {qpn:#x} does not answer PSN 0");
    let outcomes: Vec<_> = wire.ends[0].completions.iter().map(|one| &one.outcome).collect();
    assert_eq!(outcomes, [&Err(why.clone()), &Err(why)]);
    // 4.096 us · 2^8: once, and seven retries.
    assert_eq!(wire.now, 8 * (4096 << 8));
    assert_eq!(wire.ends[0].engine.counters().timeouts, 8);
    let end = &mut wire.ends[0];
    let refused = end.engine.post_receive(end.qpn, 0).unwrap_err().to_string();
    assert_eq!(refused, format!("QP {:#x} is in error", end.qpn));
}

#[test]
fn a_write_beyond_the_region_fails_at_both_ends() {
    let mut wire = Wire::new(1024, 7, Trouble::default(), 1);
    wire.post_receive(1, 9);
    wire.ends[1].target.rkey ^= 1;
    wire.post_write(0, 0, 0, 5000, true);
    for _ in 0..20 {
        wire.settle();
        wire.advance(None);
    }
    let [writer, owner] = [0, 1].map(|at| wire.ends[at].qpn);
    let at_writer = &wire.ends[0].completions;
    let why = format!("remote access error: 10.0.0.2 QP {owner:#x} refused PSN 0");
    assert_eq!(at_writer.iter().map(|one| &one.outcome).collect::<Vec<_>>(), [&Err(why)]);
    let at_owner = &wire.ends[1].completions;
    let why = format!("refused a write of 10.0.0.1 QP {writer:#x}: remote access error");
    assert_eq!(at_owner.iter().map(|one| &one.outcome).collect::<Vec<_>>(), [&Err(why)]);
}

#[test]
fn the_sender_waits_for_a_late_receive() {
    let messages = [vec![(3000, true); 5], Vec::new()];
    let wire = exchange(1024, Trouble::default(), 1, &messages, 2_000_000);
    all_has_come(&wire, &messages);
    let counters = wire.ends[1].engine.counters();
    assert!(counters.rnr_naks_sent > 4, "{counters:?}");
    assert_eq!(counters.sequence_naks_sent, 0);
}

#[test]
fn marks_slow_a_sender_without_loss() {
    let messages = [vec![(100_000, true); 10], Vec::new()];
    let good = exchange(1024, Trouble::default(), 1, &messages, 0);
    let marked = exchange(1024, Trouble { marks: 0.2, ..Trouble::default() }, 1, &messages, 0);
    all_has_come(&marked, &messages);
    let [sender, receiver] = marked.ends.each_ref().map(|end| end.engine.counters());
    assert!(receiver.ce_received > 100 && receiver.cnps_sent < receiver.ce_received);
    assert!(sender.cnps_received > 1 && sender.retransmitted == 0, "{sender:?}");
    assert!(
        marked.now > 2 * good.now,
        "{} ns without marks, {} ns with marks",
        good.now,
        marked.now
    );
}

#[test]
fn queue_pairs_share_the_window_to_a_peer() {
    let mut wire = Wire::new(4096, 7, Trouble::default(), 1);
    let target = wire.ends[1].target;
    for _ in 0..8 {
        let [qpn, _] = connect(&mut wire.ends, 4096, 7);
        let (region, bytes) = (wire.ends[0].source.id, 20 * 4096);
        let (remote_address, rkey) = (target.address, target.rkey);
        for id in 0..3 {
            let (offset, immediate) = (0, None);
            let write = Write { id, region, offset, bytes, remote_address, rkey, immediate };
            wire.ends[0].engine.post_write(qpn, &write).unwrap();
        }
    }
    loop {
        wire.settle();
        // 64 KiB, and one packet for each queue pair that had none in flight.
        assert!(wire.on_the_way.iter().filter(|packet| packet.1 == 1).count() <= 16 + 8);
        if !wire.advance(None) {
            break;
        }
    }
    assert_eq!(wire.ends[0].completions.len(), 24);
    let Counters { retransmitted, timeouts, .. } = wire.ends[0].engine.counters();
    assert_eq!((retransmitted, timeouts), (0, 0));
}
