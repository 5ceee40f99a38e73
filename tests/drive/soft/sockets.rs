//! Two adapters over real sockets on loopback addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use railscope_drive::clock::Deadline;
use railscope_drive::rdma::soft::{Counters, FaultKind, SoftAdapter, SoftFault, SoftSettings};
use railscope_drive::rdma::{Completion, Done, Rdma, Region, Remote, Write};

use crate::support::require;

/// ECT(0), no DSCP.
const TRAFFIC_CLASS: u8 = 2;

/// Sizes of [`moves`]' messages, bytes.
pub const SIZES: [usize; 10] = [0, 1, 1023, 1024, 1025, 4096, 4097, 100_000, 262_144, 524_288];

/// Two adapters in this process, connected by one queue pair.
pub struct Couple {
    pub ends: [SoftAdapter; 2],
    pub qpns: [u32; 2],
    completions: [Vec<Completion>; 2],
}

/// Loopback addresses that no other test on this machine uses at the same time: sixteen per
/// process.
pub fn address(host: u8) -> IpAddr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let process = [64 | (high << 4 | middle >> 4) & 0x3f, middle << 4 | low >> 4, low << 4];
    Ipv4Addr::new(127, process[0], process[1], process[2] | host).into()
}

impl Couple {
    pub fn new(pair: u8, mtu: u16, faults: &[SoftFault]) -> Self {
        let open = |host| {
            let address = address(2 * pair + host);
            let mut adapter = SoftAdapter::open(&SoftSettings { address, mtu, seed: 7 }).unwrap();
            adapter.set_faults(faults.to_vec());
            adapter
        };
        let mut ends = [open(1), open(2)];
        let qpns = ends.each_mut().map(|end| end.create_queue_pair().unwrap());
        for here in 0..2 {
            let there = 1 - here;
            let remote = Remote {
                qpn: qpns[there],
                gid: ends[there].device().gid,
                mtu,
                traffic_class: TRAFFIC_CLASS,
                // 17 ms if packets are lost, else longer than a busy machine delays a test.
                timeout: if faults.is_empty() { 20 } else { 12 },
                retries: 7,
            };
            ends[here].connect(qpns[here], &remote).unwrap();
        }
        Self { ends, qpns, completions: Default::default() }
    }

    pub fn counters(&self) -> [Counters; 2] {
        self.ends.each_ref().map(SoftAdapter::counters)
    }

    fn poll(&mut self) {
        for (end, completions) in self.ends.iter_mut().zip(&mut self.completions) {
            end.poll(completions, Duration::from_micros(50)).unwrap();
        }
    }

    /// Polls until both ends have `count` completions.
    fn poll_until(&mut self, count: usize) {
        let deadline = Deadline::after(Duration::from_secs(60));
        while self.completions.iter().any(|all| all.len() < count) {
            self.poll();
            deadline.check(|| format!("{count} completions: {:?}", self.counters())).unwrap();
        }
    }
}

fn write(id: u64, from: Region, to: Region, offset: usize, bytes: usize) -> Write {
    Write {
        id,
        region: from.id,
        offset,
        bytes,
        remote_address: to.address + offset as u64,
        rkey: to.rkey,
        immediate: Some(u32::to_be_bytes(id as u32)),
    }
}

/// Transfers messages of several sizes; both ends must agree on everything.
pub fn moves(couple: &mut Couple) {
    let total = SIZES.iter().sum();
    let [from, to] = couple.ends.each_mut().map(|end| end.register(total).unwrap());
    let mut rng = fastrand::Rng::with_seed(3);
    rng.fill(couple.ends[0].memory_mut(from.id));
    let mut offset = 0;
    for (id, bytes) in SIZES.into_iter().enumerate() {
        couple.ends[1].post_receive(couple.qpns[1], id as u64).unwrap();
        let write = write(id as u64, from, to, offset, bytes);
        couple.ends[0].post_write(couple.qpns[0], &write).unwrap();
        offset += bytes;
    }
    couple.poll_until(SIZES.len());
    for (id, bytes) in SIZES.into_iter().enumerate() {
        let sent = &couple.completions[0][id];
        assert_eq!((sent.id, &sent.outcome), (id as u64, &Ok(Done::Written)));
        let received = &couple.completions[1][id];
        let immediate = u32::to_be_bytes(id as u32);
        let outcome = Ok(Done::Received { immediate, bytes: bytes as u32 });
        assert_eq!((received.id, &received.outcome), (id as u64, &outcome));
        let [sent, received] = [sent, received].map(|one| one.packets_ns.unwrap());
        assert!(sent.0 <= received.0 && received.1 <= sent.1, "{sent:?} {received:?}");
    }
    assert!(couple.ends[0].memory(from.id) == couple.ends[1].memory(to.id));
}

#[test]
fn messages_pass_between_two_addresses() {
    for mtu in [1024, 4096] {
        let mut couple = Couple::new(0, mtu, &[]);
        moves(&mut couple);
        let counters = couple.ends[0].counters();
        assert_eq!((counters.retransmitted, counters.timeouts), (0, 0));
        assert_eq!(couple.ends[1].counters().icrc_errors, 0);
    }
}

#[test]
fn loss_and_disorder_change_nothing_but_the_time() {
    let fault = |kind, share| SoftFault { to: None, kind, share };
    let faults = [fault(FaultKind::Loss, 0.03), fault(FaultKind::Reorder, 0.03)];
    let mut couple = Couple::new(1, 1024, &faults);
    moves(&mut couple);
    assert!(couple.ends[0].counters().retransmitted > 0);
    let injected = couple.ends[0].take_injected();
    assert!(injected.iter().any(|one| one.kind == FaultKind::Loss));
    assert!(injected.iter().all(|one| one.qpn == couple.qpns[1]));
}

#[test]
fn marked_packets_bring_cnps_and_slow_the_sender() {
    let mark = SoftFault { to: None, kind: FaultKind::MarkCe, share: 0.1 };
    let mut couple = Couple::new(2, 1024, &[mark]);
    moves(&mut couple);
    let [sender, receiver] = couple.counters();
    let marked = couple.ends[0].take_injected().len() as u64;
    assert_eq!(marked, receiver.ce_received);
    assert!(receiver.cnps_sent > 0);
    assert!(sender.cnps_received > 0 && sender.cnps_received <= receiver.cnps_sent);
}

#[test]
fn an_adapter_speaks_ipv6_with_itself() {
    let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let settings = SoftSettings { address, mtu: 4096, seed: 1 };
    let mut adapter = match SoftAdapter::open(&settings) {
        Ok(adapter) => adapter,
        Err(why) if why.to_string().contains("in use") => return,
        Err(why) => return require::lacks("drive::soft::ipv6", &why.to_string()),
    };
    let qpns = [(); 2].map(|()| adapter.create_queue_pair().unwrap());
    let gid = adapter.device().gid;
    for [here, there] in [[0, 1], [1, 0]].map(|pair| pair.map(|at: usize| qpns[at])) {
        let (mtu, traffic_class) = (4096, TRAFFIC_CLASS);
        let remote = Remote { qpn: there, gid, mtu, traffic_class, timeout: 20, retries: 7 };
        adapter.connect(here, &remote).unwrap();
    }
    let [from, to] = [(); 2].map(|()| adapter.register(100_000).unwrap());
    adapter.memory_mut(from.id).fill(0x5a);
    adapter.post_receive(qpns[1], 1).unwrap();
    adapter.post_write(qpns[0], &write(2, from, to, 0, 100_000)).unwrap();
    let mut completions = Vec::new();
    for _ in 0..1000 {
        adapter.poll(&mut completions, Duration::from_millis(10)).unwrap();
        if completions.len() == 2 {
            break;
        }
    }
    assert!(completions.iter().all(|one| one.outcome.is_ok()), "{completions:?}");
    assert!(adapter.memory(to.id).iter().all(|&byte| byte == 0x5a));
    assert_eq!(adapter.counters().icrc_errors, 0);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let _couple = Couple::new(3, 1024, &[]);
    let address = address(7);
    let settings = SoftSettings { address, mtu: 1024, seed: 1 };
    let refusal = SoftAdapter::open(&settings).unwrap_err().to_string();
    let expected = format!("UDP port 4791 of {address} is in use: rdma_rxe or another rank has it");
    assert!(refusal.starts_with(&expected), "{refusal}");
}
