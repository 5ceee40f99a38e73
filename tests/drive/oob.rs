//! The exchange of queue pairs with real NCCL: its recorded half, replayed against the driver's.

use std::collections::BTreeSet;
use std::io::{Read, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use railscope_drive::Result;
use railscope_drive::clock::Deadline;
use railscope_drive::job::IbSettings;
use railscope_drive::net::ib::Ib;
use railscope_drive::net::{LinkSpec, Net};
use railscope_drive::rdma::{Completion, Device, Rdma, Region, RegionId, Remote, Write};
use railscope_drive::release::Release;
use railscope_drive::tcp::Lookout;
use railscope_drive::wire::greeting::{SOCKET_MAGIC, SocketType};
use railscope_drive::wire::ib_handle;
use serde::Deserialize;

use crate::support::fixture;
use crate::support::streams::{self, Stretch};

const PATIENCE: Duration = Duration::from_secs(20);
const LINK: LinkSpec = LinkSpec { channel: 0, sender: 0, receiver: 1 };

/// An adapter that only records the queue pairs to connect.
struct Notebook {
    device: Device,
    connected: Vec<(u32, Remote)>,
    memory: Vec<Vec<u8>>,
}

impl Notebook {
    fn new() -> Self {
        let mut gid = [0; 16];
        gid[10..].copy_from_slice(&[0xff, 0xff, 10, 9, 8, 7]);
        let device = Device {
            name: "rxe0".to_owned(),
            port: 1,
            gid,
            gid_index: 1,
            mtu: 1024,
            speed: 10_000,
        };
        Self { device, connected: Vec::new(), memory: Vec::new() }
    }
}

impl Rdma for Notebook {
    fn device(&self) -> &Device {
        &self.device
    }

    fn register(&mut self, bytes: usize) -> Result<Region> {
        self.memory.push(vec![0; bytes]);
        let id = self.memory.len() as u32;
        let region = RegionId(id as usize - 1);
        Ok(Region { id: region, address: 0x7f00_0000_0000 | u64::from(id), rkey: id, lkey: id })
    }

    fn memory(&self, region: RegionId) -> &[u8] {
        &self.memory[region.0]
    }

    fn memory_mut(&mut self, region: RegionId) -> &mut [u8] {
        &mut self.memory[region.0]
    }

    fn create_queue_pair(&mut self) -> Result<u32> {
        Ok(0x5500)
    }

    fn connect(&mut self, qpn: u32, remote: &Remote) -> Result<()> {
        self.connected.push((qpn, *remote));
        Ok(())
    }

    fn post_write(&mut self, _qpn: u32, _write: &Write) -> Result<()> {
        Ok(())
    }

    fn post_receive(&mut self, _qpn: u32, _id: u64) -> Result<()> {
        Ok(())
    }

    fn poll(&mut self, _completions: &mut Vec<Completion>, _wait: Duration) -> Result<()> {
        Ok(())
    }
}

fn network(release: Release) -> Ib<Notebook> {
    let settings = IbSettings {
        hca: None,
        gid_index: None,
        traffic_class: 0,
        queue_pairs: 1,
        timeout: 18,
        retries: 7,
        mtu: 1024,
        forced_mtu: None,
    };
    Ib::new(Notebook::new(), release, settings, Ipv4Addr::LOCALHOST.into())
}

#[derive(Deserialize)]
struct Truth {
    connections: Vec<Connection>,
}

#[derive(Deserialize)]
struct Connection {
    sender_qpns: Vec<u32>,
    receiver_qpns: Vec<u32>,
    sender_ip: IpAddr,
    receiver_ip: IpAddr,
    oob_connector: SocketAddr,
    oob_listener: SocketAddr,
}

/// Both recorded ends of a connection of the job, and its facts from truth.json.
struct Exchange {
    sender: Vec<u8>,
    receiver: Vec<u8>,
    truth: Connection,
}

fn exchanges(run: &str) -> Vec<Exchange> {
    let folder = fixture::path("nccl").join(run);
    let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
    let mut truth: Truth = serde_json::from_str(&truth).unwrap();
    let greeting = [&SOCKET_MAGIC.to_le_bytes()[..], &(SocketType::NetIb as u32).to_le_bytes()];
    let greeting = greeting.concat();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let captures = files.filter(|path| path.extension() == Some("gz".as_ref()));
    let recorded = captures.flat_map(|path| streams::of_file(&path)).filter_map(|recorded| {
        let ([Stretch::Bytes(sender)], [Stretch::Bytes(receiver)]) =
            (&recorded.client[..], &recorded.server[..])
        else {
            return None;
        };
        let client = recorded.connection.client;
        // Both hosts captured the same connection.
        let at = truth.connections.iter().position(|known| known.oob_connector == client)?;
        assert_eq!(recorded.connection.server, truth.connections[at].oob_listener);
        let (sender, receiver) = (sender.clone(), receiver.clone());
        sender.starts_with(&greeting).then(|| Exchange {
            sender,
            receiver,
            truth: truth.connections.swap_remove(at),
        })
    });
    recorded.collect()
}

/// Offsets at which two messages of the same length differ.
fn differences(ours: &[u8], real: &[u8]) -> BTreeSet<usize> {
    assert_eq!(ours.len(), real.len());
    (0..ours.len()).filter(|&at| ours[at] != real[at]).collect()
}

fn connected_to(network: &Ib<Notebook>, qpns: &[u32], address: IpAddr) {
    let IpAddr::V4(address) = address else { panic!("{address}") };
    let [(own, remote)] = network.adapter().connected[..] else { panic!("one queue pair") };
    assert_eq!((own, vec![remote.qpn]), (0x5500, qpns.to_vec()));
    assert_eq!(remote.gid, address.to_ipv6_mapped().octets());
    assert_eq!((remote.mtu, remote.timeout, remote.retries), (1024, 18, 7));
}

#[test]
fn real_nccl_and_the_driver_understand_each_other() {
    for (run, release) in [("ring-2.21.5", Release::V2_21_5), ("ring-2.27.5", Release::V2_27_7)] {
        let exchanges = exchanges(run);
        assert!(exchanges.len() >= 8, "{run}: {}", exchanges.len());
        for exchange in &exchanges {
            our_receiver_answers_a_real_sender(release, exchange);
            our_sender_reaches_a_real_receiver(release, exchange);
        }
    }
}

#[test]
fn a_silent_stranger_blocks_nobody() {
    let exchanges = exchanges("ring-2.27.5");
    let mut network = network(Release::V2_27_7);
    let (_, handle) = network.listen(&LINK).unwrap();
    let listener = ib_handle::parse(&handle).unwrap();
    let _stranger = TcpStream::connect(listener).unwrap();
    let mut peer = TcpStream::connect(listener).unwrap();
    peer.write_all(&exchanges[0].sender).unwrap();
    network.establish(&Lookout::default(), Deadline::after(PATIENCE)).unwrap();
    connected_to(&network, &exchanges[0].truth.sender_qpns, exchanges[0].truth.sender_ip);
}

fn our_receiver_answers_a_real_sender(release: Release, exchange: &Exchange) {
    let mut network = network(release);
    let (link, handle) = network.listen(&LINK).unwrap();
    let mut peer = TcpStream::connect(ib_handle::parse(&handle).unwrap()).unwrap();
    peer.write_all(&exchange.sender).unwrap();
    network.establish(&Lookout::default(), Deadline::after(PATIENCE)).unwrap();
    connected_to(&network, &exchange.truth.sender_qpns, exchange.truth.sender_ip);
    assert_eq!(network.receiver_facts(link).peer_qpns, exchange.truth.sender_qpns);
    let mut answer = vec![0; exchange.receiver.len()];
    peer.read_exact(&mut answer).unwrap();
    drop(network);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0, "longer than real NCCL's message");
    if release == Release::V2_27_7 {
        only_values_differ(&answer, &exchange.receiver, 20);
    }
}

fn our_sender_reaches_a_real_receiver(release: Release, exchange: &Exchange) {
    let mut network = network(release);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let handle = ib_handle::encode(listener.local_addr().unwrap());
    let link = network.connect(&LINK, &handle).unwrap();
    let said = std::thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let (mut peer, _) = listener.accept().unwrap();
            peer.write_all(&exchange.receiver).unwrap();
            let mut said = vec![0; exchange.sender.len()];
            peer.read_exact(&mut said).unwrap();
            said
        });
        network.establish(&Lookout::default(), Deadline::after(PATIENCE)).unwrap();
        peer.join().unwrap()
    });
    connected_to(&network, &exchange.truth.receiver_qpns, exchange.truth.receiver_ip);
    assert_eq!(network.sender_facts(link).peer_qpns, exchange.truth.receiver_qpns);
    assert_eq!(said[..12], exchange.sender[..12]);
    if release == Release::V2_27_7 {
        only_values_differ(&said, &exchange.sender, 12 + 20);
    }
}

/// A message of 2.27 may differ only in queue pair number, MTU, GID, keys, address, and this rank's
/// devices: indices and name.
fn only_values_differ(ours: &[u8], real: &[u8], metadata: usize) {
    let device = metadata + 3072;
    let fields = [
        // The device's index.
        metadata - 16..metadata - 12,
        metadata..metadata + 4,
        device + 8..device + 12,
        device + 16..device + 32,
        device + 32..device + 36,
        metadata + 3296..metadata + 3300,
        metadata + 3624..metadata + 3632,
    ];
    for at in differences(ours, real) {
        assert!(fields.iter().any(|field| field.contains(&at)), "byte {at}");
    }
}
