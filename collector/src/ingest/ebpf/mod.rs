//! Interfaces of this machine, live, by kernel programs: each interface a tap, both directions.
//!
//! ```text
//! packet -> program at traffic control -+- nothing new: counted in a map
//!                                       +- else: ring shared with the kernel -> LiveEvent
//! ```
//!
//! A packet socket copies every frame; these programs hand out what tells something (message starts
//! and ends, ACKs, CNPs, what is out of order, the control plane's TCP) and count the rest where it
//! passes. What the kernel does not see, they do not see either: RoCE that an RDMA NIC moves itself.

mod attach;
pub(super) mod clock;
pub(super) mod cost;
pub(super) mod error;
mod event;
pub(super) mod log;
mod loss;
mod needs;
pub(super) mod object;
pub(super) mod sys;

use std::collections::HashMap;
use std::io;
use std::thread;
use std::time::Duration;

pub use self::attach::EbpfConfig;
pub use self::cost::ProgramCost;
pub use self::error::EbpfError;
pub use self::needs::needs;

use self::attach::{Attached, Port};
use self::clock::Clock;
use self::event::Record;
use self::log::KernelLog;
use self::object::Object;
use super::capability::Host;
use super::live::{LiveEvent, LiveSource};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::TapId;

/// How long events may lie in the ring: nobody is woken for them. The first look at a flow after a while
/// costs the most, for its state has left the caches, so many events at a time cost less than few.
const LONGEST_NAP: Duration = Duration::from_millis(100);

/// The same, where they are many.
const SHORTEST_NAP: Duration = Duration::from_millis(1);

/// The part of the ring above which events are many. That leaves room for four times as many.
const MANY: u32 = 4;

/// Most events that one call hands out.
const MOST_EVENTS: u32 = 1 << 16;

/// Programs that run, and what they hand out. When it is dropped, or its process dies, they are gone.
pub struct Ebpf {
    object: Object,
    attached: Attached,
    ports: HashMap<u32, PortState>,
    clock: Clock,
    event: event::Buffer,
    is_told: bool,
    /// How long events lie in the ring now.
    nap: Duration,
    /// Bytes of events that are many.
    many: usize,
    /// There was more in the ring than one call hands out.
    is_behind: bool,
}

/// What is known of a tap besides its name.
struct PortState {
    id: TapId,
    hardware_address: Option<[u8; 6]>,
    /// Frames so far, those that were counted included.
    frames: u64,
}

impl Ebpf {
    /// Loads the programs and begins to observe.
    ///
    /// # Errors
    ///
    /// An interface is not there, or the kernel refuses: too old, or this process may not; the
    /// error says what is missing.
    pub fn open(config: &EbpfConfig) -> Result<Self, EbpfError> {
        EbpfError::unless_runs(&needs(&Host::read("/proc".as_ref(), "/sys".as_ref())))?;
        let mut object = Object::load(config)?;
        let attached = Attached::new(&mut object, config)?;
        let state = |(port, id): (&Port, u32)| {
            let hardware_address = port.hardware_address;
            (port.index, PortState { id: TapId(id), hardware_address, frames: 0 })
        };
        let ports = attached.ports.iter().zip(0..).map(state).collect();
        Ok(Self {
            object,
            attached,
            ports,
            clock: Clock::new(),
            event: event::Buffer::default(),
            is_told: false,
            nap: LONGEST_NAP,
            many: (config.ring_bytes() / MANY) as usize,
            is_behind: false,
        })
    }

    /// What the programs cost so far.
    #[must_use]
    pub fn costs(&self) -> Vec<ProgramCost> {
        self.object.costs()
    }

    /// Hands out what lies in the ring, and learns how soon to look again.
    fn hand_out(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) {
        self.clock.look();
        let mut bytes = 0;
        self.is_behind = true;
        for _ in 0..MOST_EVENTS {
            let Some(item) = self.object.events.next() else {
                self.is_behind = false;
                break;
            };
            bytes += item.len();
            let Some(record) = Record::read(&item) else {
                sink(LiveEvent::Missed { event: HealthEvent::EbpfUnknownEvents, count: 1 });
                continue;
            };
            let Some(port) = self.ports.get_mut(&record.header().interface_index) else {
                continue;
            };
            port.frames += 1 + record.counted();
            let (id, number) = (port.id, port.frames);
            sink(self.event.frame(&record, id, number, port.hardware_address, &self.clock));
        }
        let nap = if bytes > self.many { self.nap / 2 } else { self.nap * 2 };
        self.nap = nap.clamp(SHORTEST_NAP, LONGEST_NAP);
    }

    fn tell_log(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) {
        let log = self.object.log.as_mut();
        log.into_iter().flat_map(KernelLog::news).for_each(|line| sink(LiveEvent::Warning(line)));
    }

    fn tell_losses(
        &mut self,
        at_once: bool,
        sink: &mut dyn FnMut(LiveEvent<'_>),
    ) -> io::Result<()> {
        for (event, count) in self.object.losses(at_once)? {
            sink(LiveEvent::Missed { event, count });
        }
        Ok(())
    }
}

impl LiveSource for Ebpf {
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_told, true) {
            self.attached.ports.iter().for_each(|port| sink(LiveEvent::Tap(port.tap())));
        }
        // Whoever looked again at once would find the few that came meanwhile, and never rest.
        if !self.is_behind {
            thread::sleep(self.nap.min(patience));
        }
        self.hand_out(sink);
        // Who has no patience will not ask again.
        self.tell_losses(patience.is_zero(), sink)?;
        self.tell_log(sink);
        self.object.measure();
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }

    fn kernel_times(&self) -> Vec<(String, Duration)> {
        self.costs().into_iter().map(|cost| (cost.name, cost.time)).collect()
    }

    fn completeness(&self) -> Vec<String> {
        let names: Vec<_> = self.attached.ports.iter().map(|port| port.name.as_str()).collect();
        vec![
            format!(
                "kernel programs at {}: all RoCEv2 that passes the kernel there, both directions, \
                 middles of messages and ACKs of their parts counted; of TCP the first bytes of each \
                 connection",
                names.join(", ")
            ),
            "not visible there: RoCE that an RDMA NIC sends and receives itself, which never \
             passes the kernel; a mirror port, soft-RoCE and the control plane's TCP do"
                .to_owned(),
        ]
    }
}
