//! Interfaces of this machine, live, by packet sockets: each interface a tap, both directions, with
//! the kernel's stamps in nanoseconds.
//!
//! ```text
//! interface -> filter (how much to keep) -> ring shared with the kernel (sys) -+
//!                                                        k-way merge by time   +-> LiveEvent
//! ```
//!
//! What such a socket sees is what passes the kernel. An RDMA NIC moves its own RoCE packets without
//! the kernel, and no error says so.

mod error;
mod filter;
mod port;
mod sys;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};

pub use self::error::AfPacketError;
use self::port::Port;
use super::live::{LiveEvent, LiveSource};
use railscope_core::model::tap::TapId;

/// How long the kernel may hold back frames of a block that is not full.
const RETIRE: Duration = Duration::from_millis(20);

/// What the kernel holds back at one interface may be older than what it gave at another: frames
/// of several interfaces are put in order when they are this old.
const HOLD: Duration = Duration::from_millis(60);

/// Most frames that one call hands out.
const MOST_FRAMES: u32 = 1 << 16;

/// Bytes kept of a RoCEv2 packet unless told: all of its headers behind any tunnel that hosts use,
/// and a clear-to-send of NCCL, which is 64 bytes of payload.
pub const ROCE_BYTES: u32 = 256;

/// What to open.
#[derive(Clone, Debug)]
pub struct AfPacketConfig {
    /// Names of interfaces.
    pub interfaces: Vec<String>,
    /// The network namespace that has them (`/proc/PID/ns/net`); `None`: the caller's.
    pub namespace: Option<PathBuf>,
    /// Bytes kept of each RoCEv2 packet; other frames are kept whole.
    pub roce_bytes: u32,
    /// Room for frames of each interface, MiB.
    pub ring_mebibytes: usize,
}

/// Interfaces that are observed.
#[derive(Debug)]
pub struct AfPacket {
    ports: Vec<Port>,
    is_told: bool,
}

impl AfPacket {
    /// Begins to observe.
    ///
    /// # Errors
    ///
    /// An interface is not there or cannot be observed, or this process may not: it needs
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace.
    pub fn open(config: &AfPacketConfig) -> Result<Self, AfPacketError> {
        let open = || {
            let ports = config.interfaces.iter().zip(0..);
            ports.map(|(name, id)| Port::open(name, TapId(id), config)).collect()
        };
        let ports: Result<Vec<_>, _> = match &config.namespace {
            None => open(),
            Some(path) => {
                let refused =
                    |source| AfPacketError::Namespace { path: path.display().to_string(), source };
                let namespace = File::open(path).map_err(refused)?;
                // Namespaces belong to threads, and sockets stay where they were opened.
                let enter = || {
                    setns(&namespace, CloneFlags::CLONE_NEWNET)
                        .map_err(|error| refused(error.into()))?;
                    open()
                };
                let failed = || refused(io::Error::other("the thread that enters it failed"));
                thread::scope(|scope| scope.spawn(enter).join()).map_err(|_| failed())?
            }
        };
        Ok(Self { ports: ports?, is_told: false })
    }

    /// Hands out frames in the order of time, as long as no earlier one can come; whether there
    /// was any.
    fn hand_out(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) -> bool {
        let now = now_ns();
        let horizon = match self.ports.len() {
            1 => u64::MAX,
            _ => now.saturating_sub(HOLD.as_nanos() as u64),
        };
        for handed in 0..MOST_FRAMES {
            let heads = self.ports.iter_mut().enumerate();
            let first = heads.filter_map(|(at, port)| Some((port.head()?, at))).min();
            // A frame of the future was stamped before the clock was set back.
            let first = first.filter(|(time, _)| *time <= horizon || *time > now);
            let Some(port) = first.and_then(|(_, at)| self.ports.get_mut(at)) else {
                return handed > 0;
            };
            port.hand_out(sink);
        }
        true
    }

    /// Waits for frames, or until those that are there are old enough.
    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        let first = self.ports.iter_mut().filter_map(Port::head).min();
        if let Some(first) = first {
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
        if !std::mem::replace(&mut self.is_told, true) {
            self.ports.iter().for_each(|port| sink(LiveEvent::Tap(port.tap())));
        }
        if !self.hand_out(sink) && !self.is_over() {
            self.wait(patience)?;
            self.hand_out(sink);
        }
        self.ports.iter_mut().try_for_each(|port| port.tell_trouble(sink))
    }

    fn is_over(&self) -> bool {
        self.ports.iter().all(Port::is_removed)
    }

    fn completeness(&self) -> Vec<String> {
        let names: Vec<_> = self.ports.iter().map(Port::name).collect();
        vec![
            format!(
                "packet sockets at {}: every frame that passes the kernel there, both directions; \
                 frames without room are counted as lost",
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
