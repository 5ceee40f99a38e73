//! NCCL's control plane: any bytes through every decoder, and as a script of the data that the ends
//! of four TCP connections send.
//!
//! ```text
//! byte 0                          1         2 ..
//!      connection, side, action   length    bytes
//! ```

use railscope_core::decode::nccl::check_in::CheckIn;
use railscope_core::decode::nccl::cts::Cts;
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::ib_devices::device_count;
use railscope_core::decode::nccl::ib_endpoint::{Endpoint, QUEUE_PAIRS};
use railscope_core::decode::nccl::layout::LAYOUTS;
use railscope_core::decode::nccl::peer_info::PeerInfo;
use railscope_core::decode::nccl::peer_message::{Preamble, SetupTag};
use railscope_core::decode::nccl::ras::RasGreeting;
use railscope_core::decode::nccl::ring_data::RingData;
use railscope_core::decode::nccl::topology::{Topology, TopologyArray};
use railscope_core::decode::nccl::{net_handle, proxy, root_reply};
use railscope_core::flow::tcp_stream::sink::{
    Chunk, ConnectionId, Ending, Side, StreamSink, TcpConnection,
};
use railscope_core::link::control::facts::ControlFacts;
use railscope_core::link::control::plane::{ControlConfig, ControlPlane};
use railscope_core::model::tap::TapId;
use railscope_core::model::time::Timestamp;

/// Room for a little more than one exchange of queue pairs.
const KEPT_BYTES: usize = 24_000;

/// Fewer connections than a script may open.
const CONNECTIONS: usize = 8;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    check_decoders(data);
    let facts = facts_of(data);
    check_facts(&facts);
    assert_eq!(
        format!("{facts:?}"),
        format!("{:?}", facts_of(data)),
        "the same input gives the same facts"
    );
}

/// Every decoder takes any bytes.
pub fn check_decoders(data: &[u8]) {
    let _ = Greeting::decode(data);
    let _ = root_reply::next_ring_listener(data);
    let _ = net_handle::listener(data);
    let _ = RasGreeting::decode(data);
    let _ = data.first_chunk().map(proxy::is_request);
    let preamble = data.first_chunk().and_then(Preamble::decode);
    assert!(preamble.is_none_or(|preamble| i32::try_from(preamble.rank).is_ok()));
    let tag = preamble.and_then(|preamble| SetupTag::decode(preamble.tag));
    assert!(tag.is_none_or(|tag| tag.distance > 0));
    for len in [32, 64, 128, 512] {
        if let Some((cts, layout)) = Cts::recognise(data, len) {
            assert!(cts.requests.is_none_or(|count| count as usize * layout.len == len as usize));
        }
    }
    for layout in &LAYOUTS {
        if let Some(check_in) = CheckIn::decode(data, layout.check_in) {
            assert!(check_in.rank < check_in.nranks && check_in.root_index < check_in.root_count);
        }
        let _ = RingData::decode(data, layout.addresses);
        let _ = PeerInfo::decode(data, layout.peer_info);
        let _ = layout.devices.and_then(|devices| device_count(data, devices));
        if let Some(topology) = Topology::decode(data, layout.topology) {
            let first = topology.rank(TopologyArray::RingReceive, 0);
            assert!(first.is_none_or(|rank| i32::try_from(rank).is_ok()));
            assert_eq!(topology.rank(TopologyArray::TreeToChild1, layout.topology.channels), None);
        }
        // These decoders need the exact length.
        let exact = data.get(..layout.endpoint.len);
        if let Some(endpoint) = exact.and_then(|data| Endpoint::decode(data, layout.endpoint)) {
            assert!(endpoint.queue_pair(0).is_some() && endpoint.port(0).is_some());
            assert!(endpoint.queue_pair(QUEUE_PAIRS).is_none());
        }
    }
}

/// The facts from a script's connections.
pub fn facts_of(script: &[u8]) -> ControlFacts {
    let config = ControlConfig { connection_capacity: CONNECTIONS, kept_bytes: KEPT_BYTES };
    let mut plane = ControlPlane::new(config);
    let mut ids = [None; 4];
    let (mut opened, mut number) = (0, 0);
    let mut rest = script;
    while let [head, len, after @ ..] = rest {
        let place = usize::from(head & 3);
        let side = if head & 4 == 0 { Side::Client } else { Side::Server };
        let id = *ids[place].get_or_insert_with(|| {
            opened += 1;
            plane.opened(ConnectionId(opened), &connection(place as u8, head & 0x40 == 0));
            ConnectionId(opened)
        });
        number += 1;
        let time = Timestamp::from_nanos(number);
        rest = after;
        match head >> 3 & 3 {
            0 | 1 => {
                let unit = if head & 0x20 == 0 { 1 } else { 16 };
                let (bytes, after) = after.split_at((usize::from(*len) * unit).min(after.len()));
                rest = after;
                if !bytes.is_empty() {
                    let _ = plane.bytes(id, side, Chunk { bytes, time, number });
                }
            }
            2 => drop(plane.gap(id, side, u64::from(*len) + 1)),
            _ => {
                plane.closed(id, Ending::Finished, time);
                ids[place] = None;
            }
        }
        assert!(plane.kept_bytes() <= KEPT_BYTES, "{} bytes in memory", plane.kept_bytes());
    }
    for id in ids.into_iter().flatten() {
        plane.closed(id, Ending::CaptureEnd, Timestamp::MAX);
    }
    plane.facts()
}

fn connection(place: u8, is_from_start: bool) -> TcpConnection {
    TcpConnection {
        tap: TapId(0),
        client: ([10, 0, 0, place], 40_000).into(),
        server: ([10, 0, 1, place], 50_000).into(),
        is_from_start,
    }
}

/// Invariants of all facts.
pub fn check_facts(facts: &ControlFacts) {
    assert!(facts.streams.len() <= CONNECTIONS);
    assert!(facts.check_ins.iter().all(|one| one.rank < one.nranks && one.magic.is_some()));
    assert!(facts.exchanges.iter().all(|one| one.sender.is_some() || one.receiver.is_some()));
    assert!(facts.setups.iter().all(|one| one.distance > 0 && !one.listeners.is_empty()));
    for ring in &facts.rings {
        let nranks = ring.nranks.unwrap_or(0);
        assert!(ring.connector_rank.is_some_and(|rank| rank < nranks));
        assert_eq!(ring.members.len() + 1, nranks as usize);
        assert!(ring.members.is_sorted_by(|a, b| a.rank < b.rank));
        assert!(ring.members.iter().all(|member| member.rank < nranks));
        for split in &ring.splits {
            assert!(split.requests.iter().all(|request| request.rank < nranks));
        }
    }
}
