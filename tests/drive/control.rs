//! The driver's control plane: ranks are threads on loopback addresses; from the store to connected
//! rings.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use railscope_drive::bootstrap::communicator::Joining;
use railscope_drive::bootstrap::{Communicator, Root};
use railscope_drive::clock::{self, Deadline};
use railscope_drive::collective::{DataType, Kind, Operator};
use railscope_drive::job::Seat;
use railscope_drive::nccl_log::{Log, Network, Work};
use railscope_drive::net::{
    Finished, LinkFacts, LinkSpec, Net, NetHandle, ReceiveLink, Request, SendLink,
};
use railscope_drive::rdma::Device;
use railscope_drive::release::Release;
use railscope_drive::store::{Client, Server, rendezvous};
use railscope_drive::tcp::Lookout;
use railscope_drive::wire::ib_handle;
use railscope_drive::{DriveError, Result};

/// A network that only records the links it was asked for.
#[derive(Default)]
struct Paper {
    listening: Vec<LinkSpec>,
    connecting: Vec<(LinkSpec, SocketAddr)>,
    facts: LinkFacts,
}

/// A port number derived from the link, so that handles can be checked.
fn port(link: &LinkSpec) -> u16 {
    u16::try_from(1000 + link.channel * 100 + link.receiver * 10 + link.sender).unwrap()
}

fn address(rank: u32) -> IpAddr {
    Ipv4Addr::new(127, 0, 77, u8::try_from(rank + 1).unwrap()).into()
}

impl Net for Paper {
    fn name(&self) -> &'static str {
        "IB"
    }

    fn listen(&mut self, link: &LinkSpec) -> Result<(ReceiveLink, NetHandle)> {
        self.listening.push(*link);
        let listener = SocketAddr::new(address(link.receiver), port(link));
        Ok((ReceiveLink(self.listening.len() - 1), ib_handle::encode(listener)))
    }

    fn connect(&mut self, link: &LinkSpec, handle: &NetHandle) -> Result<SendLink> {
        self.connecting.push((*link, ib_handle::parse(handle).unwrap()));
        Ok(SendLink(self.connecting.len() - 1))
    }

    fn establish(&mut self, _: &Lookout, _: Deadline) -> Result<()> {
        let (qpns, fifo) = (vec![0x11, 0x12], Some((0x7f00_0000_0000, 0x77)));
        self.facts = LinkFacts { qpns, fifo, ..LinkFacts::default() };
        Ok(())
    }

    fn sender_facts(&self, _: SendLink) -> &LinkFacts {
        &self.facts
    }

    fn receiver_facts(&self, _: ReceiveLink) -> &LinkFacts {
        &self.facts
    }

    fn send_buffer(&mut self, _: SendLink) -> &mut [u8] {
        &mut []
    }

    fn receive_buffer(&self, _: ReceiveLink) -> &[u8] {
        &[]
    }

    fn post_receive(&mut self, _: ReceiveLink, _: usize, _: usize) -> Result<Request> {
        unreachable!("nothing is sent")
    }

    fn post_send(&mut self, _: SendLink, _: usize, _: usize) -> Result<Option<Request>> {
        unreachable!("nothing is sent")
    }

    fn test(&mut self, _: Request) -> Result<Option<Finished>> {
        unreachable!("nothing is sent")
    }

    fn progress(&mut self, _: Duration) -> Result<()> {
        Ok(())
    }
}

/// A log that can be written and read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn seat(rank: u32, ranks: u32, store: SocketAddr) -> Seat {
    Seat {
        rank,
        ranks,
        local_rank: 0,
        address: address(rank),
        interface: "eth0".to_owned(),
        host: format!("drive-{rank:02}.example"),
        store,
        log: None,
    }
}

fn device() -> Device {
    Device {
        name: "soft0".to_owned(),
        port: 1,
        gid: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1],
        gid_index: 1,
        mtu: 4096,
        speed: 10_000,
    }
}

/// One rank: from the store to connected rings, then a gather over them.
fn rank(seat: &Seat, channels: u32, release: Release, page: Page) -> Result<Paper> {
    let deadline = Deadline::after(Duration::from_secs(30));
    let is_first = seat.rank == 0;
    let server = is_first.then(|| Server::bind(seat.store)).transpose()?;
    let store = Client::connect(seat.address, seat.store, deadline)?;
    rendezvous::arrive(&store, seat.ranks, is_first, deadline)?;
    let root = is_first.then(|| Root::start(release, seat.address, deadline)).transpose()?;
    let id = match &root {
        Some(root) => {
            rendezvous::publish(&store, rendezvous::UNIQUE_ID_KEY, &root.id(), deadline)?;
            root.id()
        }
        None => rendezvous::look_up(&store, rendezvous::UNIQUE_ID_KEY, deadline)?,
    };
    let mut lookout = Lookout::default();
    let (stream, peer) = store.stream();
    lookout.watch(stream, peer)?;
    let mut log = Log::to(Box::new(page), seat, release);
    log.start(seat, &[("NCCL_IB_TC", "106".to_owned())], Network::Ib(device()));
    let mut net = Paper::default();
    let joining = Joining { release, id: &id, seat, channels, root: root.as_ref() };
    let mut communicator = Communicator::init(&joining, &mut net, lookout, &mut log, deadline)?;
    assert_eq!(net.listening.is_empty(), release == Release::V2_27_7, "connects on first use");
    let work = Work {
        sequence: 10,
        kind: Kind::AllReduce,
        bytes: 1 << 20,
        data_type: DataType::Float32,
        operator: Operator::Sum,
        root: 0,
        buffers: [0x1000, 0x2000],
    };
    log.call(&work, communicator.facts());
    let links = communicator.rings(&mut net, &mut log, deadline)?;
    assert_eq!(links.len(), channels as usize);
    log.choice(&work, communicator.facts());
    let own = seat.rank.to_le_bytes();
    let all = communicator.all_gather(&own, "ranks", deadline)?;
    let expected: Vec<_> = (0..seat.ranks).map(|rank| rank.to_le_bytes().to_vec()).collect();
    assert_eq!(all, expected);
    communicator.check_alive(|| "a test".to_owned())?;
    let alive = || communicator.check_alive(|| "leaving".to_owned());
    rendezvous::barrier(&store, "end", seat.ranks, deadline, alive)?;
    log.destroyed(communicator.facts());
    drop(store);
    drop(communicator);
    server.into_iter().for_each(|server| server.finish(deadline));
    Ok(net)
}

/// A port on the first rank's address without a listener.
fn free_port() -> SocketAddr {
    std::net::TcpListener::bind((address(0), 0)).unwrap().local_addr().unwrap()
}

fn run(ranks: u32, channels: u32, release: Release) -> Vec<(Paper, String)> {
    let store = free_port();
    let start = |index: u32| {
        let page = Page::default();
        let written = page.clone();
        let run = move || rank(&seat(index, ranks, store), channels, release, page);
        (thread::spawn(run), written)
    };
    let threads: Vec<_> = (0..ranks).map(start).collect();
    let end = |(thread, page): (thread::JoinHandle<Result<Paper>>, Page)| {
        (thread.join().unwrap().unwrap(), page.text())
    };
    threads.into_iter().map(end).collect()
}

#[test]
fn ranks_meet_and_connect_their_rings() {
    for release in Release::ALL {
        for (ranks, channels) in [(2, 2), (3, 1), (4, 2)] {
            for (index, (net, _)) in run(ranks, channels, release).into_iter().enumerate() {
                let index = u32::try_from(index).unwrap();
                let (before, next) = ((index + ranks - 1) % ranks, (index + 1) % ranks);
                let from = |channel| LinkSpec { channel, sender: before, receiver: index };
                let to = |channel| LinkSpec { channel, sender: index, receiver: next };
                assert_eq!(net.listening, (0..channels).map(from).collect::<Vec<_>>());
                let at = |link: LinkSpec| (link, SocketAddr::new(address(next), port(&link)));
                assert_eq!(net.connecting, (0..channels).map(to).map(at).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn railscope_understands_every_line_of_the_log() {
    use railscope_core::decode::nccl_log::entries;
    use railscope_core::decode::nccl_log::message::Message;
    for release in Release::ALL {
        let logs: BTreeMap<usize, String> =
            run(2, 2, release).into_iter().map(|(_, log)| log).enumerate().collect();
        for (rank, log) in &logs {
            let host = format!("drive-{rank:02}:");
            assert!(log.lines().all(|line| line.starts_with(&host)), "{log}");
            for line in log.lines() {
                let mut entries = entries(line);
                let entry = entries.next().unwrap();
                assert!(!matches!(entry.message, Message::Other), "{line}");
                assert!(entries.next().is_none(), "{line}");
            }
        }
        let first = &logs[&0];
        for line in [
            "NCCL INFO Channel 01/02 :",
            "NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0\n",
            "Port 1 qpn 18 mtu 5 ",
            "GID 1 (0/100000AFFFF0000) fifoRkey=0x77 fifoLkey=0x77\n",
            "AllReduce: opCount a sendbuff 0x1000 recvbuff 0x2000 count 262144 datatype 7 op 0 ",
            "1048576 Bytes -> Algo ",
            "- Destroy COMPLETE\n",
        ] {
            assert!(first.contains(line), "{line} in\n{first}");
        }
    }
}

#[test]
fn a_missing_rank_is_named() {
    let deadline = Deadline::after(Duration::from_millis(700));
    let root = Root::start(Release::V2_27_7, address(0), deadline).unwrap();
    let id = root.id();
    let join = |rank: u32| {
        let seat = seat(rank, 4, free_port());
        let root = (rank == 0).then_some(&root);
        let joining =
            Joining { release: Release::V2_27_7, id: &id, seat: &seat, channels: 1, root };
        let mut log = Log::off(Release::V2_27_7);
        let (mut net, lookout) = (Paper::default(), Lookout::default());
        Communicator::init(&joining, &mut net, lookout, &mut log, deadline).unwrap_err()
    };
    let said: Vec<DriveError> = thread::scope(|scope| {
        let threads: Vec<_> = [0, 1, 3].map(|rank| scope.spawn(move || join(rank))).into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let first = said[0].to_string();
    assert!(first.starts_with("rank 2 did not check in with the root at 127.0.77.1:"), "{first}");
    assert!(first.contains(": 3 of 4 ranks did"), "{first}");
    let second = said[1].to_string();
    assert!(second.contains("knows who is missing"), "{second}");
}

#[test]
fn ranks_that_contradict_each_other_are_refused() {
    for (ranks, why) in [([2, 3], "one of 3 ranks"), ([2, 2], "already checked in")] {
        let deadline = Deadline::after(Duration::from_secs(10));
        let root = Root::start(Release::V2_21_5, address(0), deadline).unwrap();
        let id = root.id();
        let began = clock::now();
        let join = |place: usize| {
            let seat = seat(0, ranks[place], free_port());
            let release = Release::V2_21_5;
            let joining = Joining { release, id: &id, seat: &seat, channels: 1, root: Some(&root) };
            let mut log = Log::off(release);
            let (mut net, lookout) = (Paper::default(), Lookout::default());
            Communicator::init(&joining, &mut net, lookout, &mut log, deadline).unwrap_err()
        };
        let said = thread::scope(|scope| {
            let join = &join;
            let threads = [0, 1].map(|place| scope.spawn(move || join(place)));
            threads.map(|thread| thread.join().unwrap().to_string())
        });
        assert!(said.iter().all(|said| said.contains("the root at 127.0.77.1:")), "{said:?}");
        let is_why = |said: &String| said.contains(why) || said.contains("one of 2 ranks");
        assert!(said.iter().all(is_why), "{said:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "no rank waits until the deadline");
    }
}

#[test]
fn a_rank_that_dies_ends_the_others_at_once() {
    let deadline = Deadline::after(Duration::from_secs(60));
    let root = Root::start(Release::V2_27_7, address(0), deadline).unwrap();
    let id = root.id();
    let store = free_port();
    let join = |rank: u32| {
        let seat = seat(rank, 3, store);
        let release = Release::V2_27_7;
        let joining = Joining { release, id: &id, seat: &seat, channels: 1, root: None };
        let mut log = Log::off(release);
        let lookout = Lookout::default();
        Communicator::init(&joining, &mut Paper::default(), lookout, &mut log, deadline).unwrap()
    };
    let mut ranks: Vec<_> = thread::scope(|scope| {
        let join = &join;
        let threads: Vec<_> = (0..3).map(|rank| scope.spawn(move || join(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let began = clock::now();
    drop(ranks.pop());
    for communicator in &mut ranks {
        let error = communicator.all_gather(&[0], "a test", deadline).unwrap_err();
        assert!(matches!(&error, DriveError::PeerLost { peer, .. } if peer.contains("rank 2")));
    }
    assert!(began.elapsed() < Duration::from_secs(1));
}
