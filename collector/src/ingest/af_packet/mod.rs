//! Interfaces of this machine, live, from packet sockets: each interface is a tap, in both directions,
//! with the kernel's timestamps in nanoseconds.
//!
//! ```text
//! interface -> filter (how much to keep) -> ring shared with the kernel (sys) -+
//!                                                        k-way merge by time   +-> LiveEvent
//! ```
//!
//! Such a socket sees what passes the kernel. The RoCE packets of an RDMA NIC bypass the kernel, and no
//! error says so.

mod config;
mod error;
mod filter;
mod port;
mod promiscuous;
mod sys;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};

pub use self::config::AfPacketConfig;
pub use self::error::AfPacketError;
use self::port::PacketPort;
pub use self::promiscuous::Promiscuous;
use super::live::{LiveEvent, LiveSource};
use railscope_core::model::tap::{Tap, TapId};

/// Frames held back at one interface may be older than frames delivered at another: frames of several
/// interfaces are sorted once they are this old.
const HOLD: Duration = Duration::from_millis(60);

/// Most frames that one poll delivers.
const MOST_FRAMES: u32 = 1 << 16;

/// Bytes kept of a RoCEv2 packet by default: all headers, in any tunnel that hosts use, and a
/// clear-to-send of NCCL, which is 64 bytes of payload.
pub const ROCE_BYTES: u32 = 256;

/// No frame is longer, not even with TCP offloads.
pub const WHOLE: u32 = 0x4_0000;

/// Observed interfaces.
#[derive(Debug)]
pub struct AfPacket {
    ports: Vec<PacketPort>,
    config: AfPacketConfig,
    /// Taps that are not announced yet.
    new_taps: Vec<Tap>,
    /// Taps so far, by number: the name of the interface, and how many frames were delivered.
    taps: Vec<(String, u64)>,
    /// Forgotten interfaces that were removed, until their last frames are delivered.
    leaving: Vec<PacketPort>,
    /// The last poll left no frames.
    is_drained: bool,
}

impl AfPacket {
    /// Starts to observe.
    ///
    /// # Errors
    ///
    /// An interface does not exist or cannot be observed, or this process lacks `CAP_NET_RAW` in the user
    /// namespace that owns the network namespace.
    pub fn open(config: &AfPacketConfig) -> Result<Self, AfPacketError> {
        let open = || {
            let ports = config.interfaces.iter().zip(0..);
            ports.map(|(name, id)| PacketPort::open(name, TapId(id), config)).collect()
        };
        let ports: Result<Vec<_>, _> = match &config.namespace {
            None => open(),
            Some(path) => {
                let refused =
                    |source| AfPacketError::Namespace { path: path.display().to_string(), source };
                let namespace = File::open(path).map_err(refused)?;
                // A namespace is entered by a thread; sockets stay in it after the thread ends.
                let enter = || {
                    setns(&namespace, CloneFlags::CLONE_NEWNET)
                        .map_err(|error| refused(error.into()))?;
                    open()
                };
                let failed = || refused(io::Error::other("the thread that enters it failed"));
                thread::scope(|scope| scope.spawn(enter).join()).map_err(|_| failed())?
            }
        };
        let ports: Vec<PacketPort> = ports?;
        let new_taps = ports.iter().map(PacketPort::tap).collect();
        let taps = ports.iter().map(|port| (port.name().to_owned(), 0)).collect();
        let (config, leaving) = (config.clone(), Vec::new());
        Ok(Self { ports, leaving, config, new_taps, taps, is_drained: false })
    }

    /// The taps, numbered from 0.
    #[must_use]
    pub fn taps(&self) -> Vec<Tap> {
        self.ports.iter().map(PacketPort::tap).collect()
    }

    /// Delivers frames in the order of time, as long as no earlier one can come. Returns whether there
    /// was any.
    fn hand_out(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) -> bool {
        let now = now_ns();
        let horizon = match self.ports.len() + self.leaving.len() {
            1 => u64::MAX,
            _ => now.saturating_sub(HOLD.as_nanos() as u64),
        };
        for handed in 0..MOST_FRAMES {
            let ports = self.ports.iter_mut().chain(&mut self.leaving);
            let heads = ports.filter_map(|port| Some((port.head()?, port)));
            // A frame from the future was stamped before the clock was set back.
            let first = heads.min_by_key(|(time, _)| *time);
            let first = first.filter(|(time, _)| *time <= horizon || *time > now);
            let Some((_, port)) = first else {
                self.is_drained = true;
                return handed > 0;
            };
            let number = self.taps.get_mut(port.id().0 as usize).map_or(0, |(_, frames)| {
                *frames += 1;
                *frames
            });
            port.hand_out(number, sink);
        }
        self.is_drained = false;
        true
    }

    /// Waits for frames, or until pending ones are old enough.
    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        let ports = self.ports.iter_mut().chain(&mut self.leaving);
        if let Some(first) = ports.filter_map(PacketPort::head).min() {
            let age = Duration::from_nanos(now_ns().saturating_sub(first));
            thread::sleep(HOLD.saturating_sub(age).min(patience));
            return Ok(());
        }
        let open = self.ports.iter().filter(|port| !port.is_removed());
        let mut fds: Vec<_> =
            open.map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN)).collect();
        let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, patience) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl LiveSource for AfPacket {
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        self.new_taps.drain(..).for_each(|tap| sink(LiveEvent::Tap(tap)));
        let news = self.ports.iter_mut().flat_map(PacketPort::take_news);
        news.for_each(|line| sink(LiveEvent::Warning(line)));
        if !self.hand_out(sink) {
            self.wait(patience)?;
            self.hand_out(sink);
        }
        let mut ports = self.ports.iter_mut().chain(&mut self.leaving);
        ports.try_for_each(|port| port.report_trouble(patience.is_zero(), sink))?;
        self.leaving.retain(|port| !port.is_spent());
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.ports.iter().all(PacketPort::is_spent) && self.leaving.is_empty()
    }

    fn is_quiet(&self, tap: TapId) -> bool {
        self.is_drained && self.ports.iter().any(|port| port.id() == tap && port.is_up())
    }

    fn follow(&mut self, interface: &str) -> io::Result<()> {
        self.forget(interface);
        let known = self.taps.iter().position(|(name, _)| name == interface);
        let at = known.unwrap_or(self.taps.len());
        let id = TapId(u32::try_from(at).unwrap_or(u32::MAX));
        let port = PacketPort::open(interface, id, &self.config).map_err(io::Error::other)?;
        if known.is_none() {
            self.taps.push((interface.to_owned(), 0));
            self.new_taps.push(port.tap());
        }
        self.ports.push(port);
        Ok(())
    }

    fn forget(&mut self, interface: &str) {
        let gone = self.ports.extract_if(.., |port| port.name() == interface);
        // Where that is not known, nothing more is wanted.
        self.leaving
            .extend(gone.filter_map(|mut port| port.notice_removal().ok()?.then_some(port)));
    }

    fn completeness(&self) -> Vec<String> {
        let names: Vec<_> = self.ports.iter().map(PacketPort::name).collect();
        vec![
            format!(
                "packet sockets at {}: every frame that passes the kernel there, both directions; \
                 frames dropped for a full ring, theirs or the NIC's, are counted as lost",
                names.join(", ")
            ),
            "not visible there: RoCE that an RDMA NIC sends and receives itself, which never \
             passes the kernel; a mirror port, soft-RoCE and the control plane's TCP do"
                .to_owned(),
        ]
    }
}

#[expect(clippy::disallowed_methods, reason = "frames are held until they are old enough")]
fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
