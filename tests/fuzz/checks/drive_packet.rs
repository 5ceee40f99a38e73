//! Datagrams into the driver's own RDMA adapter: no panic, no write that the key does not allow,
//! and every datagram is counted exactly once.
//!
//! The script is a list of records: a byte of flags, a length byte in units of four bytes, a
//! datagram without ICRC. Flags fill in what a fuzzer cannot guess.

use std::net::IpAddr;

use railscope_drive::rdma::soft::batch::Batch;
use railscope_drive::rdma::soft::engine::{Arrival, Engine};
use railscope_drive::rdma::soft::icrc::icrc;
use railscope_drive::rdma::soft::packet::OVERHEAD_BYTES;
use railscope_drive::rdma::{Remote, Write};

const MTU: u16 = 256;
const SOURCE_PORT: u16 = 0xc001;

// Flags: the packet is for the queue pair; its RETH names the region; its ICRC is wrong; its sender
// is unknown; it has CE; a receive is posted before it.
const OUR_QPN: u8 = 1;
const OUR_REGION: u8 = 2;
const BAD_ICRC: u8 = 4;
const STRANGER: u8 = 8;
const MARKED: u8 = 16;
const RECEIVE: u8 = 32;

/// Panics if an invariant does not hold.
pub fn check(script: &[u8]) {
    let here = IpAddr::from([10, 0, 0, 1]);
    let mut engine = Engine::new(here, 1.25e9, 1 << 16, 1);
    let qpn = engine.create_queue_pair().unwrap();
    let gid = std::net::Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped().octets();
    let remote = Remote { qpn: 7, gid, mtu: MTU, traffic_class: 2, timeout: 8, retries: 7 };
    engine.connect(qpn, &remote, SOURCE_PORT).unwrap();
    let [region, secret] = [(); 2].map(|()| engine.register(1024));
    for id in 0..3 {
        let (offset, immediate) = (0, Some([1, 2, 3, 4]));
        let (bytes, remote_address) = (700, 0x7f00_0000_0000);
        let region = region.id;
        let write = Write { id, region, offset, bytes, remote_address, rkey: 1, immediate };
        engine.post_write(qpn, &write).unwrap();
    }

    let mut batch = Batch::default();
    let mut rest = script;
    let mut now = 0;
    while let [flags, quarter, behind @ ..] = rest {
        let (datagram, next) = behind.split_at(behind.len().min(4 * usize::from(*quarter)));
        rest = next;
        now += 100_000;
        if flags & RECEIVE != 0 {
            let _ = engine.post_receive(qpn, now);
        }
        let mut bytes = datagram.to_vec();
        if let (true, Some(place)) = (flags & OUR_QPN != 0, bytes.get_mut(5..8)) {
            place.copy_from_slice(&qpn.to_be_bytes()[1..]);
        }
        if let (true, Some(place)) = (flags & OUR_REGION != 0, bytes.get_mut(12..24)) {
            place[..8].copy_from_slice(&region.address.to_be_bytes());
            place[8..].copy_from_slice(&region.rkey.to_be_bytes());
        }
        let from = IpAddr::from([10, 0, 0, if flags & STRANGER == 0 { 2 } else { 3 }]);
        if flags & BAD_ICRC == 0 {
            bytes.extend_from_slice(&icrc(from, here, SOURCE_PORT, &bytes));
        }
        let traffic_class = if flags & MARKED == 0 { 2 } else { 3 };
        let source_port = SOURCE_PORT;
        engine.receive(&Arrival { from, source_port, traffic_class, ns: now, bytes: &bytes });
        engine.on_timer(now);
        while engine.transmit(now, &mut batch) {
            let most = usize::from(MTU) + OVERHEAD_BYTES;
            assert!(batch.packets().iter().all(|packet| packet.bytes.len() <= most));
        }
        let counters = engine.counters();
        let fates = counters.writes_accepted
            + counters.answers_accepted
            + counters.cnps_received
            + counters.duplicates
            + counters.refused
            + counters.stale_answers
            + counters.icrc_errors
            + counters.undeliverable;
        assert_eq!(fates, counters.packets_received, "{counters:?}");
    }
    assert!(engine.memory(secret.id).iter().all(|&byte| byte == 0), "written without its key");
}
