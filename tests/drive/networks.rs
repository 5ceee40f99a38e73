//! Collectives over NET/IB (RoCEv2 in user space) and over NET/Socket, on loopback addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use railscope_drive::Result;
use railscope_drive::clock::{Deadline, now};
use railscope_drive::collective::ring::Ring;
use railscope_drive::collective::run::{Runner, Task};
use railscope_drive::collective::{DataType, Kind, Operation, Operator};
use railscope_drive::job::IbSettings;
use railscope_drive::net::ib::Ib;
use railscope_drive::net::socket::{Socket, SocketSettings};
use railscope_drive::net::{ChannelLinks, LinkFacts, LinkSpec, Net, NetHandle};
use railscope_drive::rdma::soft::{FaultKind, SoftAdapter, SoftFault, SoftSettings};
use railscope_drive::release::Release;
use railscope_drive::tcp::Lookout;
use railscope_drive::truth::{LinkRole, RingStep};

use super::sums::{Notes, run_one};

const PATIENCE: Duration = Duration::from_secs(30);

/// A rank's loopback address. No other test on this machine uses it at the same time.
fn address(test: u8, rank: u32) -> IpAddr {
    let [_, _, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 128 | middle >> 1, low, test << 4 | (rank as u8 + 1)).into()
}

fn all_kinds(count: usize) -> Vec<Operation> {
    let kinds = [Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter, Kind::Broadcast];
    let operation = |kind| Operation {
        kind,
        data_type: DataType::Float32,
        operator: Operator::Sum,
        root: 1,
        count: if matches!(kind, Kind::AllReduce | Kind::Broadcast) { count } else { count / 4 },
    };
    kinds.map(operation).to_vec()
}

fn ib_settings(queue_pairs: u32, timeout: u8) -> IbSettings {
    IbSettings {
        hca: None,
        gid_index: None,
        traffic_class: 106,
        queue_pairs,
        timeout,
        retries: 7,
        mtu: 1024,
        forced_mtu: None,
    }
}

fn ib(
    test: u8,
    rank: u32,
    release: Release,
    queue_pairs: u32,
    faults: &[SoftFault],
) -> Box<dyn Net> {
    let address = address(test, rank);
    let mut adapter = SoftAdapter::open(&SoftSettings { address, mtu: 1024, seed: 1 }).unwrap();
    adapter.set_faults(faults.to_vec());
    // Half a second if packets are lost, else longer than a busy machine delays a thread.
    let timeout = if faults.is_empty() { 20 } else { 17 };
    Box::new(Ib::new(adapter, release, ib_settings(queue_pairs, timeout), address))
}

/// Where the ranks of a test meet.
#[derive(Default)]
struct Meeting {
    /// By channel and receiver.
    handles: Mutex<BTreeMap<(u32, u32), NetHandle>>,
    finished: AtomicU32,
    failed: AtomicBool,
}

impl Meeting {
    fn handle(&self, channel: u32, receiver: u32) -> NetHandle {
        let deadline = Deadline::after(PATIENCE);
        loop {
            if let Some(handle) = self.handles.lock().unwrap().get(&(channel, receiver)) {
                return *handle;
            }
            deadline.check(|| format!("the handle of rank {receiver}")).unwrap();
            std::thread::yield_now();
        }
    }
}

/// Informs the other ranks when one fails, so that none waits for it.
struct Watch<'a>(&'a Meeting);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
    }
}

/// A rank's results: the ends (sending, receiving) of its links by channel, and its chunks.
struct RankResults {
    links: Vec<(LinkFacts, LinkFacts)>,
    ring_steps: Vec<RingStep>,
}

/// Makes the ring's links on all channels, as the transport setup would.
fn connect(
    net: &mut dyn Net,
    (rank, ranks, channels): (u32, u32, u32),
    meeting: &Meeting,
) -> Result<Vec<ChannelLinks>> {
    let (previous, next) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let mut receivers = Vec::new();
    for channel in 0..channels {
        let (receive, handle) =
            net.listen(&LinkSpec { channel, sender: previous, receiver: rank })?;
        meeting.handles.lock().unwrap().insert((channel, rank), handle);
        receivers.push(receive);
    }
    let mut links = Vec::new();
    for (channel, receive) in (0..).zip(receivers) {
        let handle = meeting.handle(channel, next);
        let send = net.connect(&LinkSpec { channel, sender: rank, receiver: next }, &handle)?;
        links.push(ChannelLinks { channel, send, receive });
    }
    net.establish(&Lookout::default(), Deadline::after(PATIENCE))?;
    Ok(links)
}

fn run_ring(
    (ranks, channels): (u32, u32),
    release: Release,
    operations: &[Operation],
    offer_delay: Duration,
    make: impl Fn(u32) -> Box<dyn Net> + Sync,
) -> Vec<RankResults> {
    let meeting = Meeting::default();
    let one = |rank| {
        let _watch = Watch(&meeting);
        let mut net = make(rank);
        let net = &mut *net;
        let links = connect(net, (rank, ranks, channels), &meeting).unwrap();
        let mut runner = Runner::new(release, rank, Ring::ascending(ranks), &links, PATIENCE);
        let mut notes = Notes::default();
        for (sequence, &operation) in (0..).zip(operations) {
            let task = Task { sequence, operation, offer_delay, gpu_delay: Duration::ZERO, tag: 0 };
            let in_place = sequence % 2 == 0;
            let wrong = run_one(&mut runner, net, (rank, ranks), task, in_place, &mut notes);
            assert_eq!(wrong, 0, "rank {rank}: {operation:?}");
        }
        // A finished rank still answers the others.
        meeting.finished.fetch_add(1, Ordering::Relaxed);
        while meeting.finished.load(Ordering::Relaxed) < ranks {
            assert!(!meeting.failed.load(Ordering::Relaxed), "another rank has failed");
            net.progress(Duration::from_millis(1)).unwrap();
        }
        let facts = links.iter().map(|link| {
            (net.sender_facts(link.send).clone(), net.receiver_facts(link.receive).clone())
        });
        RankResults { links: facts.collect(), ring_steps: notes.0 }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks)
            .map(|rank| {
                scope.spawn({
                    let one = &one;
                    move || one(rank)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn sums_over_net_ib_are_right_and_both_ends_agree() {
    for (test, release, queue_pairs) in
        [(0, Release::V2_21_5, 1), (1, Release::V2_27_7, 2), (2, Release::V2_21_5, 4)]
    {
        let results = run_ring((4, 2), release, &all_kinds(100_000), Duration::ZERO, |rank| {
            ib(test, rank, release, queue_pairs, &[])
        });
        for (rank, here) in results.iter().enumerate() {
            let next = &results[(rank + 1) % results.len()];
            for ((sender, _), (_, receiver)) in here.links.iter().zip(&next.links) {
                assert_eq!(sender.qpns.len(), queue_pairs as usize);
                assert_eq!(sender.qpns, receiver.peer_qpns);
                assert_eq!(sender.peer_qpns, receiver.qpns);
                assert_eq!(sender.fifo, receiver.fifo);
                assert!(sender.fifo.is_some());
                assert_eq!(sender.connector, receiver.connector);
                assert_eq!(sender.listener, receiver.listener);
                let from = sender.connector.unwrap().ip();
                assert_eq!(from, address(test, rank as u32));
            }
        }
        in_order(&results);
    }
}

#[test]
fn sums_are_right_despite_packet_loss() {
    let loss = SoftFault { kind: FaultKind::Loss, to: None, share: 0.01 };
    let results = run_ring((3, 1), Release::V2_27_7, &all_kinds(80_000), Duration::ZERO, |rank| {
        ib(3, rank, Release::V2_27_7, 1, &[loss])
    });
    in_order(&results);
}

#[test]
fn sums_over_net_socket_are_right() {
    for (test, release, settings) in [
        (4, Release::V2_21_5, SocketSettings::default()),
        (5, Release::V2_27_7, SocketSettings::default()),
        (6, Release::V2_27_7, SocketSettings { threads: 2, sockets_per_thread: 3 }),
    ] {
        // With 20 elements, most messages are small enough to be sent together with their size.
        let mut operations = all_kinds(100_000);
        operations.extend(all_kinds(20));
        let results = run_ring((4, 2), release, &operations, Duration::ZERO, |rank| {
            Box::new(Socket::new(release, settings, address(test, rank)))
        });
        for (sender, receiver) in results.iter().flat_map(|rank| &rank.links) {
            assert!(sender.connector.is_some() && receiver.listener.is_some());
            assert!(sender.qpns.is_empty());
        }
        in_order(&results);
    }
}

#[test]
fn delayed_offers_arrive_late() {
    let operations = &all_kinds(40_000)[..1];
    let delay = Duration::from_millis(20);
    let began = now();
    let results = run_ring((2, 1), Release::V2_27_7, operations, delay, |rank| {
        ib(7, rank, Release::V2_27_7, 1, &[])
    });
    assert!(began.elapsed() >= delay);
    for rank in &results {
        let offers = rank.ring_steps.iter().filter_map(|ring_step| ring_step.cts_posted_ns);
        assert_eq!(offers.count(), 2);
    }
}

/// On each link, chunks are numbered per collective, no chunk arrives before its receive buffer was
/// offered, and everything sent is received.
fn in_order(results: &[RankResults]) {
    let mut ends: BTreeMap<(u64, u32, u32), [Vec<&RingStep>; 2]> = BTreeMap::new();
    for ring_step in results.iter().flat_map(|rank| &rank.ring_steps) {
        let RingStep { sequence, channel, rank, role, .. } = *ring_step;
        let (sender, end) = match role {
            LinkRole::Sender => (rank, 0),
            LinkRole::Receiver => ((rank + results.len() as u32 - 1) % results.len() as u32, 1),
        };
        ends.entry((sequence, channel, sender)).or_default()[end].push(ring_step);
    }
    for [sent, received] in ends.values() {
        assert_eq!(sent.len(), received.len());
        for (index, (sent, received)) in (0..).zip(sent.iter().zip(received)) {
            assert_eq!((sent.index, received.index), (index, index));
            assert_eq!((sent.part, &sent.messages), (received.part, &received.messages));
            assert!(received.cts_posted_ns.unwrap() <= received.last_byte_ns);
            assert!(sent.first_byte_ns.unwrap() <= sent.last_byte_ns);
        }
    }
}

#[test]
fn a_missing_peer_is_named() {
    let link = LinkSpec { channel: 3, sender: 1, receiver: 2 };
    let patience = Duration::from_millis(30);
    let mut net = ib(8, 2, Release::V2_27_7, 1, &[]);
    let (_, handle) = net.listen(&link).unwrap();
    let error = net.establish(&Lookout::default(), Deadline::after(patience)).unwrap_err();
    assert_eq!(error.to_string(), "rank 1's connection for channel 3 did not come within 30ms");

    let mut socket = Socket::new(Release::V2_27_7, SocketSettings::default(), address(8, 3));
    let error = socket.connect(&link, &[0; 128]).unwrap_err();
    assert_eq!(error.to_string(), "rank 2 sent a handle that is none of NET/Socket");
    let (_, _) = socket.listen(&link).unwrap();
    let error = socket.establish(&Lookout::default(), Deadline::after(patience)).unwrap_err();
    assert_eq!(error.to_string(), "rank 1's connections for channel 3 did not come within 30ms");

    // A sender of the other release: it waits for a list of devices that never arrives.
    let mut older = ib(8, 1, Release::V2_27_7, 1, &[]);
    older.connect(&link, &handle).unwrap();
    let error = older.establish(&Lookout::default(), Deadline::after(patience)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rank 2's list of devices for channel 3 did not come within 30ms"
    );
}
