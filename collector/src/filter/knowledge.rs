//! What an analysis of the whole input knows of its packets.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::subject::Known;
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

/// Tap, source, destination, destination queue pair.
type FlowName = (u32, IpAddr, IpAddr, u32);

/// Knows the packets of an input that is read a second time, in the same order.
pub struct Knowledge {
    flows: HashMap<FlowName, Vec<Owned>>,
    /// By communicator, in order of time.
    collectives: BTreeMap<String, Vec<Occupied>>,
    /// By communicator, in order of time.
    iterations: BTreeMap<String, Vec<Occupied>>,
    /// How much each tap's clock is ahead, in nanoseconds.
    clocks: Vec<i64>,
    tracker: FlowTracker,
}

/// One epoch of a flow with its ranks.
struct Owned {
    first_ns: i64,
    last_ns: i64,
    ranks: [Option<u32>; 2],
    channel: Option<u32>,
    communicator: Option<String>,
}

/// The time of a collective or training step.
struct Occupied {
    start_ns: i64,
    end_ns: i64,
    id: u32,
}

impl Knowledge {
    /// What `report` says, which must hold collectives and flows one by one.
    #[must_use]
    pub fn new(report: &Report, config: FlowConfig) -> Self {
        let mut flows: HashMap<FlowName, Vec<Owned>> = HashMap::new();
        for flow in &report.flows {
            let Some(owner) = &flow.owner else { continue };
            let (Ok(source), Ok(destination)) = (flow.src.parse(), flow.dst.parse()) else {
                continue;
            };
            let name = (flow.tap, source, destination, flow.dest_qpn);
            flows.entry(name).or_default().push(Owned {
                first_ns: flow.first_ns,
                last_ns: flow.last_ns,
                ranks: [owner.rank, owner.peer_rank],
                channel: owner.channel,
                communicator: owner.communicator.clone(),
            });
        }
        let mut collectives: BTreeMap<String, Vec<Occupied>> = BTreeMap::new();
        for one in &report.collectives {
            let (start_ns, end_ns, id) = (one.start_ns, one.end_ns, one.id);
            let of_one = collectives.entry(one.communicator.clone()).or_default();
            of_one.push(Occupied { start_ns, end_ns, id });
        }
        collectives.values_mut().for_each(|all| all.sort_by_key(|one| one.start_ns));
        let mut iterations: BTreeMap<String, Vec<Occupied>> = BTreeMap::new();
        for one in &report.iterations {
            let (start_ns, end_ns, id) = (one.start_ns, one.end_ns, one.iteration);
            let of_one =
                iterations.entry(one.communicator.clone().unwrap_or_default()).or_default();
            of_one.push(Occupied { start_ns, end_ns, id });
        }
        iterations.values_mut().for_each(|all| all.sort_by_key(|one| one.start_ns));
        let clocks = report.taps.iter().map(|tap| tap.clock_offset_ns.unwrap_or(0)).collect();
        Self { flows, collectives, iterations, clocks, tracker: FlowTracker::new(config) }
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
    pub fn observe(&mut self, frame: &Frame<'_>, packet: &Packet<'_>, origin: Timestamp) -> Known {
        let mut resends = Resends::default();
        self.tracker.observe(frame, packet, &mut resends);
        // Messages are of no use here.
        self.tracker.drain_messages();
        let mut known = Known { is_resent: resends.is_one, ..Known::default() };
        let (Body::Roce(roce), Some(ip)) = (&packet.body, &packet.ip) else { return known };
        let name = (frame.tap.0, ip.source, ip.destination, roce.bth.dest_qpn.value());
        let ahead_ns = self.clocks.get(frame.tap.0 as usize).copied().unwrap_or(0);
        let own_ns = frame.time.relative_to(origin);
        let time_ns = own_ns - ahead_ns;
        let Some(epochs) = self.flows.get(&name) else { return known };
        let is_of = |one: &&Owned| {
            [own_ns, time_ns].iter().any(|time| (one.first_ns..=one.last_ns).contains(time))
        };
        let Some(owned) = epochs.iter().find(is_of).or_else(|| epochs.last()) else { return known };
        known.ranks = owned.ranks;
        known.channel = owned.channel;
        let id = owned.communicator.as_deref().unwrap_or_default();
        known.collective = self.collectives.get(id).and_then(|all| at(all, time_ns));
        // Other communicators of a job have its training steps.
        let own = self.iterations.get(id).or_else(|| self.only_iterations());
        known.iteration = own.and_then(|all| at(all, time_ns));
        known
    }
}

/// The one that is under way at a time, the last to start if there are several.
fn at(all: &[Occupied], time_ns: i64) -> Option<u32> {
    let started = all.partition_point(|one| one.start_ns <= time_ns);
    // Collectives of one communicator overlap by a few at most.
    let recent = all[..started].iter().rev().take(8);
    recent.into_iter().find(|one| time_ns <= one.end_ns).map(|one| one.id)
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
