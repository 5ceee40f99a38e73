//! A network in virtual time: NICs with reliable connections, links, switches, and faults.
//!
//! [`plan`] describes it, [`Network`] runs it. It is deterministic: the same plan, seed and calls
//! give the same packets at the same times.
//!
//! `id.rs` numbers the parts. A packet is a value in a pool, an event is a small value in a queue: `event.rs` and
//! `packet_pool.rs`. `transmission.rs` moves frames over links, `pause.rs` is PFC at both ends,
//! `routing.rs` chooses paths; `switch/` and `nic/` are the nodes; `trouble.rs` and `background.rs`
//! disturb them.

mod arbitration;
mod background;
mod check;
pub mod counters;
mod event;
pub mod id;
mod nic;
pub mod notice;
pub mod packet;
mod packet_pool;
mod pause;
mod picoseconds;
pub mod plan;
mod port;
mod routing;
mod source;
mod switch;
pub mod tap;
mod transmission;
pub mod trouble;

use std::collections::VecDeque;

use crate::simulate::time::VirtualTime;
use counters::{NicCounters, PortCounters};
use event::{Event, EventQueue};
use id::{NicId, NodeId, PRIORITIES, PortId, PrioritySet, TapId};
use nic::Nic;
use nic::dcqcn::RateControl;
use nic::queue_pair::{Connection, QueuePair};
use notice::{CallError, Notice, QueuePairId, QueuePairOptions, Work};
use packet::FlowKey;
use packet_pool::PacketPool;
use picoseconds::Picoseconds;
use plan::{NetworkPlan, PlanError};
use port::SimulatedPort;
use routing::{Routing, mix};
use source::Source;
use switch::Switch;
use tap::{Occurrence, TapSink};
use trouble::Trouble;

/// A running network.
///
/// Time passes in [`Network::advance`] only, which returns as soon as something may concern the
/// job; what the job then requests happens at that time.
#[derive(Debug)]
pub struct Network {
    now: Picoseconds,
    events: EventQueue,
    notices: VecDeque<Notice>,
    pool: PacketPool,
    /// Two per link.
    ports: Vec<SimulatedPort>,
    /// Index of each port in its node.
    place: Vec<usize>,
    switches: Vec<Switch>,
    nics: Vec<Nic>,
    queue_pairs: Vec<QueuePair>,
    routing: Routing,
    convergence: Picoseconds,
    troubles: Vec<Trouble>,
    background: Vec<Source>,
    /// Randomness of losses on links.
    chance: fastrand::Rng,
    hops: u64,
}

/// Seeds of parts that must not correlate.
#[derive(Clone, Copy)]
enum Salt {
    Routing,
    Switch,
    Nic,
    Background,
    Loss,
}

fn salted(seed: u64, salt: Salt, place: usize) -> u64 {
    mix(mix(seed ^ mix(salt as u64)) ^ place as u64)
}

/// The ports of a plan's links, and how they belong to nodes.
struct Wiring {
    ports: Vec<SimulatedPort>,
    /// Index of each port in its node.
    place: Vec<usize>,
    /// Number of ports.
    ports_of_switch: Vec<usize>,
    port_of_nic: Vec<u32>,
}

impl Wiring {
    fn new(plan: &NetworkPlan) -> Self {
        let mut ports_of_switch = vec![0; plan.switches.len()];
        let mut ports = Vec::with_capacity(plan.links.len() * 2);
        let mut place = Vec::with_capacity(plan.links.len() * 2);
        let mut port_of_nic = vec![0; plan.nics.len()];
        for link in &plan.links {
            for end in &link.ends {
                let (lossless, strict) = plan.priorities_of(end.node);
                match end.node {
                    NodeId::Switch(switch) => {
                        let count: &mut usize = &mut ports_of_switch[switch.0 as usize];
                        place.push(*count);
                        *count += 1;
                    }
                    NodeId::Nic(nic) => {
                        port_of_nic[nic.0 as usize] = ports.len() as u32;
                        place.push(0);
                    }
                }
                ports.push(SimulatedPort::new(link, end.node, lossless, strict));
            }
        }
        for (tap, index) in plan.taps.iter().zip(0..) {
            ports[tap.port.number() as usize].tap = Some(TapId(index));
        }
        Self { ports, place, ports_of_switch, port_of_nic }
    }
}

impl Network {
    /// Builds the network of `plan`. Nothing happens yet.
    ///
    /// # Errors
    ///
    /// A contradiction in the plan.
    pub fn new(plan: &NetworkPlan, seed: u64) -> Result<Self, PlanError> {
        plan.check()?;
        let Wiring { ports, place, ports_of_switch, port_of_nic } = Wiring::new(plan);
        let switches = plan.switches.iter().zip(ports_of_switch).enumerate();
        let switches = switches
            .map(|(at, (plan, ports))| Switch::new(plan, ports, salted(seed, Salt::Switch, at)))
            .collect();
        let nics = plan.nics.iter().zip(port_of_nic).enumerate();
        let nics = nics
            .map(|(at, (plan, port))| {
                Nic::new(plan, NicId(at as u32), port, salted(seed, Salt::Nic, at))
            })
            .collect();
        let background = plan.background.iter().enumerate();
        let background = background
            .map(|(at, &flow)| Source::new(flow, salted(seed, Salt::Background, at)))
            .collect();
        let routing = Routing::new(plan, &ports, salted(seed, Salt::Routing, 0));
        let mut network = Self {
            now: Picoseconds::default(),
            events: EventQueue::default(),
            notices: VecDeque::new(),
            pool: PacketPool::default(),
            ports,
            place,
            switches,
            nics,
            queue_pairs: Vec::new(),
            routing,
            convergence: Picoseconds::of_nanoseconds(plan.convergence_ns),
            troubles: plan.troubles.clone(),
            background,
            chance: fastrand::Rng::with_seed(salted(seed, Salt::Loss, 0)),
            hops: 0,
        };
        network.plan_troubles();
        network.plan_background();
        Ok(network)
    }

    /// Current time.
    pub fn now(&self) -> VirtualTime {
        self.now.virtual_time()
    }

    /// Creates a queue pair with the NIC's next number.
    ///
    /// # Errors
    ///
    /// There is no such NIC.
    pub fn create_queue_pair(&mut self, nic: NicId) -> Result<QueuePairId, CallError> {
        let maker = self.nics.get_mut(nic.0 as usize).ok_or(CallError::NoNic(nic))?;
        let id = QueuePairId { nic, qpn: maker.next_qpn() };
        let line_bps = self.ports[maker.port as usize].rate_bps();
        let rate = maker.dcqcn.map(|parameters| RateControl::new(parameters, line_bps));
        maker.queue_pairs.push(self.queue_pairs.len() as u32);
        self.queue_pairs.push(QueuePair::new(id, rate));
        Ok(id)
    }

    /// Connects two queue pairs in both directions. PSNs start at 0.
    ///
    /// # Errors
    ///
    /// One of them does not exist or is connected, or an option is not valid for RoCE.
    pub fn connect(
        &mut self,
        one: QueuePairId,
        other: QueuePairId,
        options: QueuePairOptions,
    ) -> Result<(), CallError> {
        if !matches!(options.mtu, 256 | 512 | 1024 | 2048 | 4096) {
            return Err(CallError::Mtu(options.mtu));
        }
        let places = [self.queue_pair(one)?, self.queue_pair(other)?];
        for (id, place) in [one, other].into_iter().zip(places) {
            if one == other || self.queue_pairs[place].connection.is_some() {
                return Err(CallError::Connected(id));
            }
        }
        for ((id, peer), place) in [(one, other), (other, one)].into_iter().zip(places) {
            let nic = &self.nics[id.nic.0 as usize];
            let priority = nic.priorities.priority(options.dscp);
            let is_ipv6 = nic.is_ipv6;
            self.queue_pairs[place].connection =
                Some(Connection { peer, options, priority, is_ipv6 });
        }
        Ok(())
    }

    /// Sends `work` after everything posted at `from` before.
    ///
    /// # Errors
    ///
    /// `from` cannot send, or the work's head is too long.
    pub fn post(&mut self, from: QueuePairId, work: Work) -> Result<(), CallError> {
        let place = self.queue_pair(from)?;
        let queue_pair = &mut self.queue_pairs[place];
        let connection = queue_pair.connection.ok_or(CallError::NotConnected(from))?;
        if queue_pair.is_gone {
            return Ok(());
        }
        if queue_pair.requester.gave_up() {
            return Err(CallError::GaveUp(from));
        }
        let mtu = connection.options.mtu;
        let head = work.head.as_ref().map_or(0, |head| head.len());
        let room = work.bytes.min(u32::from(mtu));
        if head > room as usize {
            return Err(CallError::Head { head, room });
        }
        queue_pair.requester.post(work, mtu);
        if !queue_pair.scheduled && queue_pair.requester.can_send() {
            queue_pair.scheduled = true;
            let time = queue_pair.next_at.max(self.now);
            self.events.push(time, Event::Paced { queue_pair: place as u32 });
        }
        Ok(())
    }

    /// Destroys a queue pair, or puts it in error: it sends nothing any more, and what arrives for it is
    /// dropped. What is posted at it is lost.
    pub fn destroy(&mut self, id: QueuePairId) {
        let Ok(place) = self.queue_pair(id) else { return };
        let queue_pair = &mut self.queue_pairs[place];
        queue_pair.is_gone = true;
        queue_pair.requester.take_failed();
    }

    /// Takes all posted receives from a queue pair.
    pub fn take_receives(&mut self, id: QueuePairId) {
        let Ok(place) = self.queue_pair(id) else { return };
        self.queue_pairs[place].responder.take_receives();
    }

    /// Schedules [`Notice::Woken`] with `token` at `at`, or at once if that has passed.
    pub fn wake(&mut self, at: VirtualTime, token: u64) {
        self.events.push(self.now.max(at.into()), Event::Wake { token });
    }

    /// Advances time until something concerns the job; `None` when no event is left. With
    /// background traffic or an endless pause storm there is always one.
    pub fn advance(&mut self, taps: &mut dyn TapSink) -> Option<Notice> {
        loop {
            if let Some(notice) = self.notices.pop_front() {
                return Some(notice);
            }
            let (time, event) = self.events.pop()?;
            self.now = time;
            self.happen(event, taps);
        }
    }

    fn happen(&mut self, event: Event, taps: &mut dyn TapSink) {
        match event {
            Event::Arrival { port, packet } => self.arrive(port, packet, taps),
            Event::PortFree { port } => self.port_free(port, taps),
            Event::Drained { nic, packet } => self.drained(nic, packet, taps),
            Event::Paced { queue_pair } => self.paced(queue_pair, taps),
            Event::AckTimeout { queue_pair } => self.ack_timeout(queue_pair, taps),
            Event::GapDue { queue_pair } => self.gap_due(queue_pair, taps),
            Event::PauseEnd { port, priority } => self.pause_end(port, priority, taps),
            Event::PauseRenewal { port, priority } => self.renew_pause(port, priority, taps),
            Event::TroubleTurn { trouble } => self.turn(trouble, taps),
            Event::Datagram { flow } => self.send_datagram(flow, taps),
            Event::Convergence => {
                self.routing.converge(&self.ports);
                taps.occurred(self.now.virtual_time(), Occurrence::Converged);
            }
            Event::Wake { token } => self.notices.push_back(Notice::Woken { token }),
        }
    }

    /// Counters of a NIC; `None` if there is no such NIC.
    pub fn counters(&self, nic: NicId) -> Option<NicCounters> {
        let nic = self.nics.get(nic.0 as usize)?;
        let port = &self.ports[nic.port as usize];
        let mut counters = nic.counters(port);
        // NICs count a pause while it lasts.
        for place in 0..PRIORITIES {
            let lasted_ns = |since| self.now.since(since).0 / 1000;
            if port.asks.set() & 1 << place != 0 {
                let asked_ns = port.counters.asked_pause_ns[place];
                counters.tx_prio_pause_duration[place] =
                    (asked_ns + lasted_ns(port.asks.since[place])) / 1000;
            }
            if port.paused.set & 1 << place != 0 {
                let paused_ns = port.counters.paused_ns[place];
                counters.rx_prio_pause_duration[place] =
                    (paused_ns + lasted_ns(port.paused.since[place])) / 1000;
            }
        }
        Some(counters)
    }

    /// Counters of a port; `None` if there is no such port.
    pub fn port_counters(&self, port: PortId) -> Option<PortCounters> {
        self.ports.get(port.number() as usize).map(|port| port.counters)
    }

    /// Whether the link of a port is up.
    pub fn is_up(&self, port: PortId) -> bool {
        self.ports.get(port.number() as usize).is_some_and(SimulatedPort::is_up)
    }

    /// Bytes queued at a switch port; `None` if there is no such port.
    pub fn queue_bytes(&self, port: PortId, priority: u8) -> Option<u64> {
        self.ports.get(port.number() as usize).map(|port| port.queue(priority).bytes())
    }

    /// DCQCN's current rate of a queue pair in bits per second; `None` without DCQCN.
    pub fn rate_bps(&self, queue_pair: QueuePairId) -> Option<f64> {
        let place = self.queue_pair(queue_pair).ok()?;
        self.queue_pairs[place].rate.clone().map(|mut rate| rate.rate_bps(self.now))
    }

    /// The ports that forward packets of a flow under current routes, including the NIC's: one such
    /// path where packets are sprayed. It ends early if there is no route.
    pub fn path(&self, flow: FlowKey) -> Vec<PortId> {
        let Some(nic) = self.nics.get(flow.source.0 as usize) else { return Vec::new() };
        let mut path = vec![PortId::at(nic.port)];
        let mut out = nic.port;
        while let NodeId::Switch(switch) = self.ports[(out ^ 1) as usize].node
            && let Some(next) = self.routing.next_port(switch.0, flow, 0, &self.ports)
            && path.len() <= self.ports.len()
        {
            path.push(PortId::at(next));
            out = next;
        }
        path
    }

    /// Frames that crossed a link: the unit of the simulation's own speed.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Index of a queue pair.
    fn queue_pair(&self, id: QueuePairId) -> Result<usize, CallError> {
        let nic = self.nics.get(id.nic.0 as usize).ok_or(CallError::NoNic(id.nic))?;
        nic.place(id.qpn).map(|place| place as usize).ok_or(CallError::NoQueuePair(id))
    }

    /// Bytes stored that arrived through a port.
    fn stored_from(&self, port: u32, priority: u8) -> u64 {
        match self.ports[port as usize].node {
            NodeId::Switch(switch) => self.switches[switch.0 as usize]
                .buffer
                .stored_bytes(self.place[port as usize], priority),
            NodeId::Nic(nic) => self.nics[nic.0 as usize].stored_bytes(priority),
        }
    }
}

impl NetworkPlan {
    /// The priorities of a node that have PFC, and those that are strict.
    fn priorities_of(&self, node: NodeId) -> (PrioritySet, PrioritySet) {
        match node {
            NodeId::Nic(nic) => (self.nics[nic.0 as usize].lossless, PrioritySet(0)),
            NodeId::Switch(switch) => {
                let mut sets = (PrioritySet(0), PrioritySet(0));
                for (priority, queue) in (0..).zip(&self.switches[switch.0 as usize].queues) {
                    let only = PrioritySet::only(priority).0;
                    sets.0.0 |= if queue.pfc.is_some() { only } else { 0 };
                    sets.1.0 |= if queue.strict { only } else { 0 };
                }
                sets
            }
        }
    }
}
