//! Interfaces of this machine, live, from kernel programs: each interface is a tap, in both directions.
//!
//! ```text
//! packet -> program at traffic control, -+- nothing new: counted in a map
//!           or in a mirror port's driver +- else: ring shared with the kernel -> LiveEvent
//! ```
//!
//! A packet socket copies every frame. These programs deliver packets that carry information (message
//! starts and ends, ACKs, CNPs, packets out of order, the control plane's TCP) and count the rest. They
//! see only what passes the kernel: not the RoCE traffic of an RDMA NIC.

mod attach;
mod config;
pub(super) mod clock;
pub(super) mod cost;
pub(super) mod error;
mod event;
pub(super) mod log;
mod loss;
mod needs;
pub(super) mod object;
mod stacked;
pub(super) mod sys;

use std::collections::HashMap;
use std::io;
use std::thread;
use std::time::Duration;

pub use self::config::EbpfConfig;
pub use self::cost::ProgramCost;
pub use self::error::EbpfError;
pub use self::needs::needs;

use self::attach::{Attached, HookedPort};
use self::clock::Clock;
use self::event::Record;
use self::log::KernelLog;
use self::object::Object;
use super::capability::Host;
use super::link_events::LinkWatch;
use super::live::{LiveEvent, LiveSource};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::TapId;

/// Longest time between two looks at the ring, which wakes nobody. The first event of a flow costs the
/// most, as its state has left the CPU's caches: many events at once are cheaper than a few.
const LONGEST_NAP: Duration = Duration::from_millis(100);

/// The same when events are many.
const SHORTEST_NAP: Duration = Duration::from_millis(1);

/// Events are many when they fill more than a quarter of the ring.
const MANY: u32 = 4;

/// Most events that one poll delivers.
const MOST_EVENTS: u32 = 1 << 16;

/// Running programs and their events. The kernel removes them when this is dropped or the process dies.
pub struct Ebpf {
    object: Object,
    attached: Attached,
    ports: HashMap<u32, PortState>,
    clock: Clock,
    event: event::Buffer,
    /// Taps announced so far.
    announced: usize,
    /// Current time between two looks at the ring.
    nap: Duration,
    /// Bytes of events above which they are many.
    many: usize,
    /// The last poll left events in the ring.
    is_behind: bool,
    /// When to look which interfaces are up.
    links: LinkWatch,
}

/// A tap's id, address and number of frames.
struct PortState {
    id: TapId,
    hardware_address: Option<[u8; 6]>,
    /// Frames so far, including those that the kernel counted.
    frames: u64,
}

impl Ebpf {
    /// Loads the programs and starts to observe.
    ///
    /// # Errors
    ///
    /// An interface does not exist, the kernel is too old, or this process lacks a capability; the error
    /// says which.
    pub fn open(config: &EbpfConfig) -> Result<Self, EbpfError> {
        EbpfError::unless_runs(&needs(&Host::read("/proc".as_ref(), "/sys".as_ref())))?;
        let mut object = Object::load(config)?;
        let attached = Attached::new(&mut object, config)?;
        let state = |(port, id): (&HookedPort, u32)| {
            let hardware_address = port.hardware_address;
            (port.index, PortState { id: TapId(id), hardware_address, frames: 0 })
        };
        let ports = attached.ports.iter().zip(0..).map(state).collect();
        let mut links = LinkWatch::new();
        links.hurry();
        Ok(Self {
            object,
            attached,
            ports,
            clock: Clock::new(),
            event: event::Buffer::default(),
            announced: 0,
            nap: LONGEST_NAP,
            many: (config.ring_bytes() / MANY) as usize,
            is_behind: false,
            links,
        })
    }

    /// CPU time of the programs so far.
    #[must_use]
    pub fn costs(&self) -> Vec<ProgramCost> {
        self.object.costs()
    }

    /// Delivers the events in the ring, and sets the time until the next look.
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
            let Some(port) = self.ports.get_mut(&record.header.interface_index) else {
                continue;
            };
            port.frames += 1 + record.counted();
            let (id, number) = (port.id, port.frames);
            sink(self.event.frame(&record, id, number, port.hardware_address, &self.clock));
        }
        let nap = if bytes > self.many { self.nap / 2 } else { self.nap * 2 };
        self.nap = nap.clamp(SHORTEST_NAP, LONGEST_NAP);
    }

    fn report_log(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) {
        let log = self.object.log.as_mut();
        log.into_iter().flat_map(KernelLog::news).for_each(|line| sink(LiveEvent::Warning(line)));
    }

    fn report_losses(&mut self, at_once: bool, sink: &mut dyn FnMut(LiveEvent<'_>)) {
        for (event, count) in self.object.losses(at_once) {
            sink(LiveEvent::Missed { event, count });
        }
    }
}

impl LiveSource for Ebpf {
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        let ports = self.attached.ports.iter().skip(self.announced);
        ports.for_each(|port| sink(LiveEvent::Tap(port.tap())));
        self.announced = self.attached.ports.len();
        // Looking again at once would find a few new events each time, and never rest.
        if !self.is_behind {
            thread::sleep(self.nap.min(patience));
        }
        self.attached.news.drain(..).for_each(|line| sink(LiveEvent::Warning(line)));
        self.hand_out(sink);
        if self.links.take_due() {
            self.attached.look(&mut self.object);
            for port in &self.attached.ports {
                if let Some(state) = self.ports.get_mut(&port.index) {
                    state.hardware_address = port.hardware_address;
                }
            }
        }
        // A caller without patience does not poll again.
        self.report_losses(patience.is_zero(), sink);
        for (port, id) in self.attached.ports.iter_mut().zip(0..) {
            let frames = port.lost(patience.is_zero());
            if frames > 0 {
                sink(LiveEvent::Lost { tap: TapId(id), frames });
            }
        }
        self.report_log(sink);
        self.object.measure();
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }

    fn is_quiet(&self, tap: TapId) -> bool {
        !self.is_behind && self.attached.ports.get(tap.0 as usize).is_some_and(|port| port.is_up)
    }

    fn follow(&mut self, interface: &str) -> io::Result<()> {
        let at = self.attached.follow(&mut self.object, interface).map_err(io::Error::other)?;
        let port = &self.attached.ports[at];
        let hardware_address = port.hardware_address;
        let id = TapId(u32::try_from(at).unwrap_or(u32::MAX));
        let known = self.ports.extract_if(|_, state| state.id == id).next();
        let frames = known.map_or(0, |(_, state)| state.frames);
        self.ports.insert(port.index, PortState { id, hardware_address, frames });
        self.links.hurry();
        Ok(())
    }

    fn forget(&mut self, interface: &str) {
        self.attached.forget(&mut self.object, interface);
    }

    fn kernel_times(&self) -> Vec<(String, Duration)> {
        self.costs().into_iter().map(|cost| (cost.name, cost.time)).collect()
    }

    fn completeness(&self) -> Vec<String> {
        let names: Vec<_> = self.attached.ports.iter().map(|port| port.name.as_str()).collect();
        let mut lines = vec![
            format!(
                "kernel programs at {}: all RoCEv2 that passes the kernel there, both directions; \
                 packets in the middle of messages and their ACKs are only counted; the first bytes of \
                 each TCP connection; every packet in a tunnel or a mirror session",
                names.join(", ")
            ),
            "not visible there: RoCE that an RDMA NIC sends and receives itself, which never \
             passes the kernel; a mirror port, soft-RoCE and the control plane's TCP do"
                .to_owned(),
        ];
        let deaf = self.attached.deaf();
        if !deaf.is_empty() {
            lines.push(format!(
                "not visible at {}: frames to other hosts, as a mirror sends them: that needs CAP_NET_RAW",
                deaf.join(", ")
            ));
        }
        lines
    }
}

/// Hands the frame of a record of the ring, aligned to 8 bytes, to `sink`, as [`Ebpf`] does at an interface
/// with this address; returns whether it is a record.
#[doc(hidden)]
pub fn read_record(
    bytes: &[u8],
    own: Option<[u8; 6]>,
    sink: &mut dyn FnMut(LiveEvent<'_>),
) -> bool {
    let Some(record) = Record::read(bytes) else { return false };
    let number = 1 + record.counted();
    sink(event::Buffer::default().frame(&record, TapId(0), number, own, &Clock::new()));
    true
}
