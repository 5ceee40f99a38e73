//! A queue pair between two devices: round trips by RDMA WRITE with immediate, bandwidth by RDMA
//! WRITE of large messages.

use std::time::Duration;

use railscope_drive::rdma::verbs::{VerbsAdapter, VerbsSettings};
use railscope_drive::rdma::{Completion, Done, Rdma, Region, Remote, Write};

use super::clock::now;
use super::matrix::{Device, Probe};
use super::protocol::{End, bounded};
use super::statistic::round_trip;

/// Bytes of a message, and how many are under way.
const MESSAGE: usize = 1024 * 1024;
const WINDOW: usize = 4;
/// Receives that are posted ahead.
const RECEIVES: u64 = 16;
/// Pings of a round trip, at most and at least, and for how long; where they take long, the least is
/// given up after [`PATIENT`].
const PINGS: usize = 1000;
const FEWEST_PINGS: usize = 10;
const PINGING: Duration = Duration::from_millis(200);
const PATIENT: Duration = Duration::from_secs(2);
/// Longest wait for a completion: transport retries end before it.
const COMPLETION: Duration = Duration::from_secs(8);
/// How long the answering side looks for a ping without sleeping.
const BUSY: Duration = Duration::from_micros(500);
/// Share of a bandwidth measurement that is not counted.
const WARM_UP: f64 = 0.2;
/// Timeout and retries of queue pairs, as the verbs have them: 67 ms, 3; between rails 17 ms, 2.
const PATIENCE: (u8, u8) = (14, 3);
const CROSS_PATIENCE: (u8, u8) = (12, 2);

/// An open device with one queue pair and memory.
pub(super) struct QueuePair {
    adapter: VerbsAdapter,
    qpn: u32,
    region: Region,
    completions: Vec<Completion>,
}

impl QueuePair {
    /// Opens a device.
    ///
    /// # Errors
    /// It refuses; the text says what to do.
    pub(super) fn open(device: &Device) -> Result<Self, String> {
        let hca = Some(format!("={}:{}", device.name, device.port));
        let address = std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        let settings = VerbsSettings { address, hca, gid_index: Some(device.gid_index) };
        let words = |error: railscope_drive::DriveError| bounded(&error.to_string());
        let mut adapter = VerbsAdapter::open(&settings).map_err(words)?;
        let qpn = adapter.create_queue_pair().map_err(words)?;
        let region = adapter.register(MESSAGE * WINDOW).map_err(words)?;
        Ok(Self { adapter, qpn, region, completions: Vec::new() })
    }

    /// What the peer needs to know.
    pub(super) fn end(&self) -> End {
        let device = self.adapter.device();
        End {
            qpn: self.qpn,
            gid: device.gid,
            mtu: device.mtu,
            address: self.region.address,
            rkey: self.region.rkey,
        }
    }

    /// Makes the queue pair ready to receive and to send.
    ///
    /// # Errors
    /// The device refuses, for instance because it has no route.
    pub(super) fn connect(&mut self, remote: &End, is_cross: bool) -> Result<(), String> {
        let (timeout, retries) = if is_cross { CROSS_PATIENCE } else { PATIENCE };
        let remote = Remote {
            qpn: remote.qpn,
            gid: remote.gid,
            mtu: remote.mtu.min(self.adapter.device().mtu),
            traffic_class: 0,
            timeout,
            retries,
        };
        let connected = self.adapter.connect(self.qpn, &remote);
        connected.map_err(|error| bounded(&error.to_string()))?;
        (0..RECEIVES).try_for_each(|_| self.post_receive())
    }

    /// Measures towards the peer; bandwidth only if there is time for it.
    pub(super) fn measure(&mut self, remote: &End, time: Option<Duration>) -> Probe {
        let mut probe = Probe::default();
        match self.ping(remote) {
            Ok((middle, low)) => {
                probe.rtt_us = Some(middle);
                probe.rtt_p10_us = Some(low);
            }
            Err(error) => {
                probe.error = Some(bounded(&error));
                return probe;
            }
        }
        if let Some(time) = time {
            match self.flood(remote, time) {
                Ok(gbps) => probe.gbps = Some(gbps),
                Err(error) => probe.error = Some(bounded(&error)),
            }
        }
        probe
    }

    fn ping(&mut self, remote: &End) -> Result<(f64, f64), String> {
        let start = now();
        let mut times = Vec::new();
        while times.len() < PINGS {
            let limit = if times.len() < FEWEST_PINGS { PATIENT } else { PINGING };
            if times.len() > 1 && start.elapsed() >= limit {
                break;
            }
            let began = now();
            self.post_write(remote, 0, 8, Some([1; 4]))?;
            let (mut is_sent, mut is_answered) = (false, false);
            while !(is_sent && is_answered) {
                for done in self.completed(Duration::ZERO)? {
                    match done {
                        Done::Written => is_sent = true,
                        Done::Received { .. } => {
                            is_answered = true;
                            times.push(began.elapsed().as_secs_f64() * 1e6);
                        }
                    }
                }
                if began.elapsed() > COMPLETION {
                    return Err("no answer to an RDMA WRITE, and no error either".to_owned());
                }
            }
            self.post_receive()?;
        }
        // The first one finds routes and caches.
        if times.len() > 1 {
            times.remove(0);
        }
        round_trip(&mut times).ok_or_else(|| "no answer".to_owned())
    }

    fn flood(&mut self, remote: &End, time: Duration) -> Result<f64, String> {
        for slot in 0..WINDOW {
            self.post_write(remote, slot, MESSAGE, None)?;
        }
        let (began, warm) = (now(), time.mul_f64(WARM_UP));
        let (mut last, mut under_way, mut slot) = (began, WINDOW, 0);
        // When counting began, and messages since then.
        let mut counted: Option<(std::time::Instant, usize)> = None;
        while under_way > 0 {
            let done = self.completed(Duration::from_millis(1))?.len();
            if done == 0 {
                if last.elapsed() > COMPLETION {
                    return Err("an RDMA WRITE of 1 MiB does not complete".to_owned());
                }
                continue;
            }
            last = now();
            under_way -= done.min(under_way);
            counted = match counted {
                Some((since, messages)) => Some((since, messages + done)),
                None if began.elapsed() >= warm => Some((last, 0)),
                None => None,
            };
            while under_way < WINDOW && began.elapsed() < time {
                self.post_write(remote, slot, MESSAGE, None)?;
                slot = (slot + 1) % WINDOW;
                under_way += 1;
            }
        }
        let (since, messages) = counted.unwrap_or((began, 0));
        let (since, messages) = if messages == 0 { (began, WINDOW) } else { (since, messages) };
        let seconds = last.duration_since(since).as_secs_f64().max(1e-9);
        Ok((messages * MESSAGE) as f64 * 8.0 / seconds / 1e9)
    }

    /// Answers pings for a while.
    ///
    /// # Errors
    /// The queue pair failed.
    pub(super) fn answer(&mut self, remote: &End) -> Result<(), String> {
        let mut last = now();
        loop {
            let is_idle = last.elapsed() >= BUSY;
            let wait = if is_idle { Duration::from_millis(2) } else { Duration::ZERO };
            for done in self.completed(wait)? {
                if let Done::Received { .. } = done {
                    self.post_write(remote, 0, 8, Some([2; 4]))?;
                    self.post_receive()?;
                    last = now();
                }
            }
            if is_idle {
                return Ok(());
            }
        }
    }

    /// What has completed; an error if something failed.
    fn completed(&mut self, wait: Duration) -> Result<Vec<Done>, String> {
        self.completions.clear();
        let polled = self.adapter.poll(&mut self.completions, wait);
        polled.map_err(|error| error.to_string())?;
        self.completions.drain(..).map(|completion| completion.outcome).collect()
    }

    fn post_write(
        &mut self,
        remote: &End,
        slot: usize,
        bytes: usize,
        immediate: Option<[u8; 4]>,
    ) -> Result<(), String> {
        let offset = slot * MESSAGE;
        let write = Write {
            id: 0,
            region: self.region.id,
            offset,
            bytes,
            remote_address: remote.address.wrapping_add(offset as u64),
            rkey: remote.rkey,
            immediate,
        };
        self.adapter.post_write(self.qpn, &write).map_err(|error| error.to_string())
    }

    fn post_receive(&mut self) -> Result<(), String> {
        self.adapter.post_receive(self.qpn, 1).map_err(|error| error.to_string())
    }
}
