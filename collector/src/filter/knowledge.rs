//! What an analysis of the whole input knows of its packets.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::clock::Clock;
use super::under_way::UnderWay;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::flow::message::Message;
use railscope_core::flow::observer::{FlowObserver, Signal};
use railscope_core::flow::state::Flow;
use railscope_core::flow::tracker::{FlowConfig, FlowTracker};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::Tap;
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::packets::PacketContext;

/// Tap, source, destination, destination queue pair.
type FlowName = (u32, IpAddr, IpAddr, u32);

/// Knows the packets of an input that is read a second time, in the same order.
pub struct Knowledge {
    flows: HashMap<FlowName, Vec<Owned>>,
    /// By communicator, by number, which is the order of time.
    collectives: BTreeMap<String, Vec<Occupied>>,
    messages: UnderWay,
    /// By communicator, in order of time.
    iterations: BTreeMap<String, Vec<Occupied>>,
    /// By tap.
    clocks: BTreeMap<u32, Clock>,
    tracker: FlowTracker,
}

/// One epoch of a flow with its ranks.
struct Owned {
    id: u32,
    last_ns: i64,
    ranks: [Option<u32>; 2],
    channel: Option<u32>,
    connection: Option<u32>,
    /// Carries CTSs and ACKs.
    is_control: bool,
    communicator: Option<String>,
}

/// The time of a collective or training step.
struct Occupied {
    start_ns: i64,
    end_ns: i64,
    id: u32,
    /// The rank that others waited for.
    late_rank: Option<u32>,
}

impl Knowledge {
    /// What `report` says, which must hold collectives, flows and messages one by one.
    #[must_use]
    pub fn new(report: &Report, config: FlowConfig) -> Self {
        let mut flows: HashMap<FlowName, Vec<Owned>> = HashMap::new();
        for flow in &report.flows {
            let (Ok(source), Ok(destination)) = (flow.src.parse(), flow.dst.parse()) else {
                continue;
            };
            let name = (flow.tap, source, destination, flow.dest_qpn);
            let owner = flow.owner.as_ref();
            flows.entry(name).or_default().push(Owned {
                id: flow.id,
                last_ns: flow.last_ns,
                ranks: [owner.and_then(|one| one.rank), owner.and_then(|one| one.peer_rank)],
                channel: owner.and_then(|one| one.channel),
                connection: owner.and_then(|one| one.connection),
                is_control: owner.and_then(|one| one.role) == Some("control"),
                communicator: owner.and_then(|one| one.communicator.clone()),
            });
        }
        let mut collectives: BTreeMap<String, Vec<Occupied>> = BTreeMap::new();
        for one in &report.collectives {
            let (start_ns, end_ns, id) = (one.start_ns, one.end_ns, one.id);
            let of_one = collectives.entry(one.communicator.clone()).or_default();
            let late_rank = one.straggler.as_ref().map(|straggler| straggler.rank);
            of_one.push(Occupied { start_ns, end_ns, id, late_rank });
        }
        let mut iterations: BTreeMap<String, Vec<Occupied>> = BTreeMap::new();
        for one in &report.iterations {
            let (start_ns, end_ns, id) = (one.start_ns, one.end_ns, one.iteration);
            let of_one =
                iterations.entry(one.communicator.clone().unwrap_or_default()).or_default();
            of_one.push(Occupied { start_ns, end_ns, id, late_rank: None });
        }
        iterations.values_mut().for_each(|all| all.sort_by_key(|one| one.start_ns));
        let clocks = report.taps.iter().map(|tap| (tap.id, Clock::new(tap))).collect();
        let messages = UnderWay::new(report.transfers.as_deref().unwrap_or_default());
        let tracker = FlowTracker::new(config);
        Self { flows, collectives, messages, iterations, clocks, tracker }
    }

    /// Whether any flow has a rank.
    #[must_use]
    pub fn has_ranks(&self) -> bool {
        self.flows.values().flatten().any(|one| one.ranks.iter().any(Option::is_some))
    }

    /// The training steps, if only one job has any.
    fn only_iterations(&self) -> Option<&Vec<Occupied>> {
        let mut all = self.iterations.values();
        all.next().filter(|_| all.next().is_none())
    }

    /// The next tap of the input.
    pub fn add_tap(&mut self, tap: Tap) {
        self.tracker.add_tap(tap);
    }

    /// What is known of the next frame.
    pub fn observe(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        origin: Timestamp,
    ) -> PacketContext {
        let mut resends = Resends::default();
        self.tracker.observe(frame, packet, &mut resends);
        // Messages are of no use here.
        self.tracker.drain_messages();
        let known = PacketContext { retransmitted: resends.is_one, ..PacketContext::default() };
        let (Body::Roce(roce), Some(ip)) = (&packet.body, &packet.ip) else { return known };
        let name = (frame.tap.0, ip.source, ip.destination, roce.bth.dest_qpn.value());
        let own_ns = frame.time.relative_to(origin);
        let clock = self.clocks.get(&frame.tap.0);
        let time_ns = clock.map_or(own_ns, |clock| clock.aligned_ns(own_ns));
        let Some(epochs) = self.flows.get(&name) else { return known };
        let is_over = |one: &&Owned| one.last_ns >= time_ns;
        let Some(owned) = epochs.iter().find(is_over).or_else(|| epochs.last()) else {
            return known;
        };
        let id = owned.communicator.as_deref().unwrap_or_default();
        let collective = self.collective(owned, time_ns);
        // Other communicators of a job have its training steps.
        let own = self.iterations.get(id).or_else(|| self.only_iterations());
        let [src_rank, dst_rank] = owned.ranks;
        let late_rank = collective.and_then(|one| one.late_rank);
        PacketContext {
            flow: Some(owned.id),
            src_rank,
            dst_rank,
            channel: owned.channel,
            collective: collective.map(|one| one.id),
            iteration: own.and_then(|all| at(all, time_ns)).map(|one| one.id),
            late: late_rank.is_some() && late_rank == src_rank,
            ..known
        }
    }

    /// The collective that a flow serves at a time: by its message, or, where its messages belong to
    /// none that is known, the latest of its communicator.
    fn collective(&self, flow: &Owned, time_ns: i64) -> Option<&Occupied> {
        let all = self.collectives.get(flow.communicator.as_deref()?)?;
        match flow.connection.filter(|one| self.messages.knows(*one)) {
            Some(connection) => {
                let id = self.messages.collective(connection, time_ns, flow.is_control)?;
                all.binary_search_by_key(&id, |one| one.id).ok().map(|at| &all[at])
            }
            None => at(all, time_ns),
        }
    }
}

/// The one that is under way at a time, the last to start if there are several.
fn at(all: &[Occupied], time_ns: i64) -> Option<&Occupied> {
    let started = all.partition_point(|one| one.start_ns <= time_ns);
    // Collectives of one communicator overlap by a few at most.
    let recent = all[..started].iter().rev().take(8);
    recent.into_iter().find(|one| time_ns <= one.end_ns)
}

/// Notes whether a frame was sent before.
#[derive(Default)]
struct Resends {
    is_one: bool,
}

impl FlowObserver for Resends {
    fn message(&mut self, _: u32, _: &Flow, _: &Message, _: &RocePacket<'_>, _: &Frame<'_>) {}

    fn resent(&mut self, _: u32, _: &Flow, _: &Frame<'_>) {
        self.is_one = true;
    }

    fn signal(&mut self, _: u32, _: &Flow, _: Signal, _: &Frame<'_>) {}
}
