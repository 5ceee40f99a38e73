//! Reliable connections over the system's RDMA devices (`cargo xtask lab`): data between two
//! adapters, and the error message if there is no device.

#![cfg(target_os = "linux")]
#![cfg_attr(
    feature = "verbs",
    expect(
        clippy::expect_used,
        clippy::unwrap_used,
        reason = "a test fails by panicking; clippy's own exception covers only #[test] functions"
    )
)]

use std::net::{IpAddr, Ipv4Addr};

use railscope_drive::rdma::verbs::{VerbsAdapter, VerbsSettings};

#[test]
#[cfg(not(feature = "verbs"))]
fn without_the_feature_it_says_how_to_build() {
    let said = VerbsAdapter::open(&at(IpAddr::V4(Ipv4Addr::LOCALHOST))).err().unwrap().to_string();
    assert!(said.contains("cargo install --features verbs"), "{said}");
    assert!(said.contains("libibverbs-dev and libclang 14"), "{said}");
}

#[test]
#[cfg(feature = "verbs")]
fn an_address_without_a_device_gets_advice() {
    use railscope_drive::rdma::verbs::inventory;

    let said = VerbsAdapter::open(&at(IpAddr::V4(Ipv4Addr::LOCALHOST))).err().unwrap().to_string();
    let ports = inventory::ports(std::path::Path::new(inventory::FOLDER));
    match ports.first() {
        None => assert!(said.contains("rdma link add rxe0 type rxe netdev eth0"), "{said}"),
        Some(port) => assert!(said.contains(&port.to_string()), "{said}"),
    }
}

fn at(address: IpAddr) -> VerbsSettings {
    VerbsSettings { address, hca: None, gid_index: None }
}

/// In one process, over the first two RoCE ports, or over the only one.
#[cfg(feature = "verbs")]
mod on_a_device {
    use std::net::IpAddr;
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    use railscope_drive::clock::Deadline;
    use railscope_drive::rdma::verbs::{VerbsAdapter, inventory};
    use railscope_drive::rdma::{Completion, Done, Rdma, Region, Remote, Write};

    /// An adapter with a queue pair and memory.
    struct Side {
        adapter: VerbsAdapter,
        qpn: u32,
        region: Region,
        completions: Vec<Completion>,
    }

    const BYTES: usize = 1 << 20;

    fn pair() -> [Side; 2] {
        let ports = inventory::ports(Path::new(inventory::FOLDER));
        let gids = ports.iter().flat_map(|port| &port.gids);
        let ipv4 = gids.filter(|gid| gid.is_roce_v2 && gid.address().is_ipv4());
        let addresses: Vec<_> = ipv4.map(inventory::Gid::address).collect();
        let first = *addresses.first().expect("a RoCE port with an IPv4 address");
        let second = *addresses.get(1).unwrap_or(&first);
        let mut sides = [first, second].map(side);
        let [gid, other_gid] = sides.each_ref().map(|side| side.adapter.device().gid);
        let [qpn, other_qpn] = sides.each_ref().map(|side| side.qpn);
        connect(&mut sides[0], other_qpn, other_gid);
        connect(&mut sides[1], qpn, gid);
        sides
    }

    fn side(address: IpAddr) -> Side {
        let mut adapter = VerbsAdapter::open(&super::at(address)).unwrap();
        let qpn = adapter.create_queue_pair().unwrap();
        let region = adapter.register(BYTES).unwrap();
        assert_eq!(region.address % 4096, 0);
        assert!(adapter.memory(region.id).iter().all(|&byte| byte == 0));
        Side { adapter, qpn, region, completions: Vec::new() }
    }

    fn connect(side: &mut Side, qpn: u32, gid: [u8; 16]) {
        let mtu = side.adapter.device().mtu;
        let remote = Remote { qpn, gid, mtu, traffic_class: 106, timeout: 10, retries: 3 };
        side.adapter.connect(side.qpn, &remote).unwrap();
    }

    impl Side {
        /// Waits for the next completion while the other side makes progress too.
        fn next(&mut self, other: &mut Self) -> Completion {
            let deadline = Deadline::after(Duration::from_secs(20));
            while self.completions.is_empty() {
                deadline.check(|| "a completion".to_owned()).unwrap();
                let wait = Duration::from_millis(1);
                self.adapter.poll(&mut self.completions, wait).unwrap();
                other.adapter.poll(&mut other.completions, wait).unwrap();
            }
            self.completions.remove(0)
        }

        fn write(&mut self, to: &Region, bytes: usize, immediate: Option<[u8; 4]>) {
            let write = Write {
                id: bytes as u64,
                region: self.region.id,
                offset: 8,
                bytes,
                remote_address: to.address + 16,
                rkey: to.rkey,
                immediate,
            };
            self.adapter.post_write(self.qpn, &write).unwrap();
        }
    }

    #[test]
    #[ignore = "needs an RDMA device: cargo xtask lab"]
    fn data_and_immediates_arrive() {
        let [mut sender, mut receiver] = pair();
        for (round, bytes) in
            [0, 1, 64, 1023, 1024, 1025, 65_536, 1_000_000].into_iter().enumerate()
        {
            let memory = sender.adapter.memory_mut(sender.region.id);
            memory.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at + round * 7) as u8);
            let expected = memory[8..8 + bytes].to_vec();
            let immediate = [bytes as u8, 2, 3, round as u8];
            receiver.adapter.post_receive(receiver.qpn, 100 + round as u64).unwrap();
            let target = receiver.region;
            sender.write(&target, bytes, Some(immediate));

            let received = receiver.next(&mut sender);
            let done = Done::Received { immediate, bytes: u32::try_from(bytes).unwrap() };
            assert_eq!((received.id, received.outcome), (100 + round as u64, Ok(done)));
            assert_eq!(received.qpn, receiver.qpn);
            let arrived = receiver.adapter.memory(receiver.region.id);
            assert_eq!(arrived[16..16 + bytes], expected);
            let written = sender.next(&mut receiver);
            assert_eq!((written.id, written.outcome), (bytes as u64, Ok(Done::Written)));
        }
        // Without immediate data, no receive is used and the receiver gets no completion.
        let target = sender.region;
        receiver.write(&target, 64, None);
        assert_eq!(receiver.next(&mut sender).outcome, Ok(Done::Written));
        assert!(sender.completions.is_empty());
    }

    #[test]
    #[ignore = "needs an RDMA device: cargo xtask lab"]
    fn failures_say_why() {
        let [mut sender, mut receiver] = pair();
        let wrong = Region { rkey: receiver.region.rkey ^ 0x5a5a_5a00, ..receiver.region };
        sender.write(&wrong, 64, None);
        let failed = sender.next(&mut receiver).outcome.unwrap_err();
        assert!(failed.starts_with("status=10 remote access error"), "{failed}");

        let [mut sender, receiver] = pair();
        let target = receiver.region;
        drop(receiver);
        sender.write(&target, 64, None);
        sender.write(&target, 65, None);
        let [mut idle, _] = pair();
        let failed = sender.next(&mut idle).outcome.unwrap_err();
        assert!(failed.starts_with("status=12 retry exceeded"), "{failed}");
        let failed = sender.next(&mut idle).outcome.unwrap_err();
        assert!(failed.starts_with("status=5 flushed"), "{failed}");
    }

    /// On the lab's first host. The other tests must not run meanwhile.
    #[test]
    #[ignore = "needs an RDMA device: cargo xtask lab"]
    fn a_port_that_went_down_is_named() {
        let link = |state: &str| {
            let arguments = ["-n", "h0", "link", "set", "eth0", state];
            assert!(Command::new("ip").args(arguments).status().unwrap().success());
        };
        let [mut sender, mut receiver] = pair();
        let target = receiver.region;
        link("down");
        sender.write(&target, 64, None);
        let failed = sender.next(&mut receiver).outcome;
        link("up");
        // rxe flushes what it cannot send; other devices run out of retries.
        let failed = failed.unwrap_err();
        let why = format!("({} port 1 is down)", sender.adapter.device().name);
        assert!(failed.starts_with("status=") && failed.ends_with(&why), "{failed}");
    }

    #[test]
    #[ignore = "needs an RDMA device: cargo xtask lab"]
    fn an_idle_poll_waits_for_its_timeout() {
        let [mut side, _] = pair();
        let wait = Deadline::after(Duration::from_millis(200));
        side.adapter.poll(&mut side.completions, Duration::from_millis(100)).unwrap();
        let left = wait.left();
        assert!(left < Duration::from_millis(110), "{left:?} of 200 ms left");
        assert!(side.completions.is_empty());
    }
}
