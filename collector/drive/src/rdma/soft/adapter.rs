//! RoCEv2 in user space, as an adapter.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::counters::Counters;
use super::engine::{Arrival, CE, Engine, address_of};
use super::fault::{Faults, Injection, SoftFault};
use super::pause::{PortPause, PortPauses};
use super::socket::SoftPort;
use super::sys;
use super::window::flight_limit;
use crate::pfc::Port;
use crate::rdma::{Completion, Device, Rdma, Region, RegionId, Remote, Write};
use crate::{DriveError, Result, clock};

/// Reported speed in Mbit/s, as for a veth.
const SPEED: u32 = 10_000;
/// Two clock readings must be this close, in ns, or are repeated.
const CLOSE: u64 = 5_000;
const READINGS: usize = 4;
/// Full batches received before anything is sent.
const ROUNDS: usize = 8;

/// How to open an adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftSettings {
    /// Address to use, with port 4791.
    pub address: IpAddr,
    /// Largest payload of one packet: 256, 512, 1024, 2048 or 4096 bytes.
    pub mtu: u16,
    /// Seed of queue pair numbers, keys and faults: the same seed and address make the same
    /// choices.
    pub seed: u64,
}

/// An adapter of UDP sockets.
#[derive(Debug)]
pub struct SoftAdapter {
    device: Device,
    address: IpAddr,
    port: SoftPort,
    engine: Engine,
    faults: Faults,
    pauses: Option<PortPauses>,
    began: Instant,
    batch: Batch,
    faulty: Batch,
    unsent: u64,
}

impl SoftAdapter {
    /// Opens the adapter of an address.
    ///
    /// # Errors
    /// UDP port 4791 of the address is not available.
    pub fn open(settings: &SoftSettings) -> Result<Self> {
        let SoftSettings { address, mtu, .. } = *settings;
        if !matches!(mtu, 256 | 512 | 1024 | 2048 | 4096) {
            let what =
                format!("an MTU of {mtu} bytes is not valid: use 256, 512, 1024, 2048 or 4096");
            return Err(DriveError::Unusable(what));
        }
        let gid = gid_of(address);
        // Ranks with the same seed still differ.
        let seed = gid.iter().fold(settings.seed, |seed, &byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let port = SoftPort::open(address, usize::from(mtu))?;
        let limit = flight_limit(port.receive_buffer()?, usize::from(mtu));
        Ok(Self {
            device: Device {
                name: "soft0".to_owned(),
                port: 1,
                gid,
                gid_index: 3,
                mtu,
                speed: SPEED,
            },
            address,
            port,
            engine: Engine::new(address, line_rate(), limit, seed),
            faults: Faults::new(seed),
            pauses: None,
            began: clock::now(),
            batch: Batch::default(),
            faulty: Batch::default(),
            unsent: 0,
        })
    }

    /// Counters since the adapter was opened.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let (overflowed, unsent) = (self.port.overflowed(), self.unsent);
        Counters { overflowed, unsent, ..self.engine.counters() }
    }

    /// Replaces the faults: an edge is known only once ranks have met.
    pub fn set_faults(&mut self, faults: Vec<SoftFault>) {
        self.faults.set(faults);
    }

    /// Its port asks for pauses of `class`, and keeps those that it is asked for.
    pub fn keep_pauses(&mut self, port: Port, class: u8) {
        self.pauses = Some(PortPauses::new(port, class, line_rate()));
    }

    /// Asks for a pause in this share of the time.
    pub fn set_pause_share(&mut self, share: f64) {
        if let Some(pauses) = &mut self.pauses {
            pauses.set_share(share);
        }
    }

    /// Pauses that its port asked for or kept since the last call; times are ns of `CLOCK_REALTIME`.
    pub fn take_pauses(&mut self) -> Vec<PortPause> {
        let epoch = self.epoch();
        let mut taken = self.pauses.as_mut().map(PortPauses::take).unwrap_or_default();
        for pause in &mut taken {
            pause.start_ns += epoch;
            pause.end_ns += epoch;
        }
        taken
    }

    /// Packets hit by faults since the last call; times are ns of `CLOCK_REALTIME`.
    pub fn take_injected(&mut self) -> Vec<Injection> {
        let epoch = self.epoch();
        let mut injected = self.faults.take_injected();
        for injection in &mut injected {
            injection.ns += epoch;
        }
        injected
    }

    /// Receives, answers and sends; returns whether messages have arrived.
    fn work(&mut self) -> Result<bool> {
        let before = self.engine.messages();
        let epoch = self.epoch();
        for _ in 0..ROUNDS {
            let (engine, began) = (&mut self.engine, self.began);
            let count = self.port.receive(|received, bytes| {
                let now = since(began);
                let stamp = received.wall_ns.map(|wall| wall.saturating_sub(epoch));
                engine.receive(&Arrival {
                    from: received.from.ip().to_canonical(),
                    source_port: received.from.port(),
                    traffic_class: received.traffic_class,
                    ns: stamp.map_or(now, |stamp| stamp.min(now)),
                    bytes,
                });
            })?;
            if count < sys::MOST {
                break;
            }
            self.send()?;
        }
        self.engine.on_timer(self.now());
        self.send()?;
        Ok(self.engine.messages() > before)
    }

    fn send(&mut self) -> Result<()> {
        let mut now = self.now();
        self.hear(now)?;
        while self.engine.transmit(now, &mut self.batch) {
            if self.faults.spare(self.batch.to()) {
                self.unsent += self.port.send(&self.batch)?;
            } else {
                self.faults.apply(&mut self.batch, now, &mut self.faulty);
                self.unsent += self.port.send(&self.faulty)?;
            }
            now = self.now();
            self.hear(now)?;
        }
        while self.faults.release(now, &mut self.faulty) {
            self.unsent += self.port.send(&self.faulty)?;
        }
        Ok(())
    }

    /// Asks for a pause if that is due, and keeps those that were asked for.
    fn hear(&mut self, now: u64) -> Result<()> {
        if self.pauses.is_none() {
            return Ok(());
        }
        let epoch = self.epoch();
        let Some(pauses) = &mut self.pauses else { return Ok(()) };
        pauses.ask(now)?;
        pauses.hear((now, epoch), self.engine.paused_until())
    }

    /// The engine's clock: monotonic, from the opening on.
    fn now(&self) -> u64 {
        since(self.began)
    }

    /// `CLOCK_REALTIME` at the engine clock's 0. Both clocks are read until nothing happened in
    /// between.
    fn epoch(&self) -> u64 {
        let read = || {
            let (before, wall, after) = (self.now(), clock::wall_ns(), self.now());
            (after - before, wall.saturating_sub(u64::midpoint(before, after)))
        };
        let mut best = read();
        for _ in 0..READINGS {
            if best.0 <= CLOSE {
                break;
            }
            best = best.min(read());
        }
        best.1
    }
}

impl Rdma for SoftAdapter {
    fn device(&self) -> &Device {
        &self.device
    }

    fn register(&mut self, bytes: usize) -> Result<Region> {
        Ok(self.engine.register(bytes))
    }

    fn memory(&self, region: RegionId) -> &[u8] {
        self.engine.memory(region)
    }

    fn memory_mut(&mut self, region: RegionId) -> &mut [u8] {
        self.engine.memory_mut(region)
    }

    fn create_queue_pair(&mut self) -> Result<u32> {
        self.engine.create_queue_pair()
    }

    fn connect(&mut self, qpn: u32, remote: &Remote) -> Result<()> {
        let to = address_of(remote.gid);
        if to.is_ipv4() != self.address.is_ipv4() {
            let what = format!("{} and {to} are not addresses of one kind", self.address);
            return Err(DriveError::Unusable(what));
        }
        if remote.mtu > self.device.mtu {
            let (theirs, ours) = (remote.mtu, self.device.mtu);
            let what = format!("a path MTU of {theirs} bytes is more than the port's {ours}");
            return Err(DriveError::Unusable(what));
        }
        if remote.traffic_class & CE == 0 && self.faults.mark(to) {
            return Err(DriveError::Unusable(format!(
                "packets to {to} cannot be marked with CE: traffic class {} (NCCL_IB_TC) has ECN \
                 bits 00, not ECN-capable; add 2",
                remote.traffic_class
            )));
        }
        let port = self.port.open_sender(source_port(qpn, remote.qpn))?;
        self.engine.connect(qpn, remote, port)
    }

    fn post_write(&mut self, qpn: u32, write: &Write) -> Result<()> {
        self.engine.post_write(qpn, write)
    }

    fn post_receive(&mut self, qpn: u32, id: u64) -> Result<()> {
        self.engine.post_receive(qpn, id)
    }

    fn poll(&mut self, completions: &mut Vec<Completion>, wait: Duration) -> Result<()> {
        let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let until = self.now().saturating_add(wait);
        loop {
            let has_come = self.work()?;
            let epoch = self.epoch();
            let ended = self.engine.completions();
            if has_come || !ended.is_empty() {
                completions.extend(ended.drain(..).map(|mut completion| {
                    completion.packets_ns =
                        completion.packets_ns.map(|(first, last)| (first + epoch, last + epoch));
                    completion
                }));
                return Ok(());
            }
            let now = self.now();
            if now >= until {
                return Ok(());
            }
            let asks_at = self.pauses.as_ref().and_then(PortPauses::wakes_at);
            let timers = [Some(until), self.engine.wakes_at(now), self.faults.wakes_at(), asks_at];
            let wakes_at = timers.into_iter().flatten().min().unwrap_or(until);
            self.port.wait(Duration::from_nanos(wakes_at.saturating_sub(now)))?;
        }
    }
}

/// In bytes per second.
fn line_rate() -> f64 {
    f64::from(SPEED) * 1e6 / 8.0
}

/// IPv4 addresses become IPv4-mapped ones.
fn gid_of(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Nanoseconds, the engine's unit.
fn since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The UDP source port of a queue pair, the same in both directions: Linux's
/// `rdma_calc_flow_label` and `rdma_flow_label_to_udp_sport` (`include/rdma/ib_verbs.h`).
#[must_use]
pub fn source_port(qpn: u32, remote_qpn: u32) -> u16 {
    let mut product = u64::from(qpn) * u64::from(remote_qpn);
    product ^= product >> 20;
    product ^= product >> 40;
    let label = product & 0xf_ffff;
    ((label & 0x3fff) ^ (label & 0xf_c000) >> 14) as u16 | 0xc000
}
