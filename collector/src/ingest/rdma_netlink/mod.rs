//! Lists of the kernel's RDMA subsystem, over netlink: queue pairs with their processes, as `rdma resource
//! show qp`, and counters of ports, as `rdma statistic`, including the optional ones that sysfs lacks.
//!
//! A list is a snapshot: a queue pair that comes and goes between two lists is never seen. The kernel asks
//! the device about each queue pair, so a list of thousands takes milliseconds and should not be read
//! every second.

pub mod answer;
pub mod message;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};

use self::answer::Device;
use self::message::{Command, Message, attribute};
use railscope_core::model::health::Health;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::queue_pair::HostQueuePair;

/// Bytes of a datagram: the kernel's are 32 KiB at most.
const DATAGRAM_BYTES: usize = 64 * 1024;
/// Milliseconds that the kernel may take for the next datagram.
const PATIENCE_MS: i64 = 2_000;
/// Most queue pairs of one device.
const QUEUE_PAIR_LIMIT: usize = 1 << 18;
/// Attempts, as a list may change while the kernel writes it.
const TRIES: usize = 3;

/// Why the subsystem does not answer.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The kernel has none.
    #[error("the kernel has no RDMA subsystem (no NETLINK_RDMA): no RDMA driver is loaded")]
    Absent,
    /// It refuses or fails.
    #[error("ask the kernel's RDMA subsystem for {what}")]
    Failed {
        /// The request.
        what: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// The kernel's RDMA subsystem.
#[derive(Debug)]
pub struct RdmaNetlink {
    socket: OwnedFd,
    number: u32,
    health: Health,
}

impl RdmaNetlink {
    /// # Errors
    ///
    /// When the kernel has no RDMA subsystem.
    pub fn open() -> Result<Self, NetlinkError> {
        let failed = |error: Errno| match error {
            Errno::EPROTONOSUPPORT => NetlinkError::Absent,
            error => NetlinkError::Failed { what: "a socket", source: error.into() },
        };
        let protocol = SockProtocol::NetlinkRDMA;
        let (family, kind) = (AddressFamily::Netlink, SockType::Raw);
        let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, protocol).map_err(failed)?;
        let patience = TimeVal::milliseconds(PATIENCE_MS);
        setsockopt(&socket, ReceiveTimeout, &patience).map_err(failed)?;
        Ok(Self { socket, number: 0, health: Health::default() })
    }

    /// The RDMA devices of this network namespace.
    ///
    /// # Errors
    ///
    /// When the kernel does not answer.
    pub fn devices(&mut self) -> Result<Vec<Device>, NetlinkError> {
        self.list("devices", Command::Devices, &[], &mut |message, devices: &mut Vec<Device>| {
            devices.extend(answer::device(message));
        })
    }

    /// The queue pairs of all devices of this network namespace, and why some are missing: a device that
    /// fails or disappears does not hide the others.
    ///
    /// # Errors
    ///
    /// When the kernel does not answer.
    pub fn all_queue_pairs(
        &mut self,
    ) -> Result<(Vec<HostQueuePair>, Option<NetlinkError>), NetlinkError> {
        let (mut pairs, mut failure) = (Vec::new(), None);
        for device in self.devices()? {
            match self.queue_pairs(device.index) {
                Ok(mut of_device) => pairs.append(&mut of_device),
                Err(error) => {
                    self.health.add(HealthEvent::RdmaUnreadDevices, 1);
                    failure = Some(error);
                }
            }
        }
        Ok((pairs, failure))
    }

    /// The queue pairs of a device.
    ///
    /// # Errors
    ///
    /// When the kernel does not answer, or the device is gone.
    pub fn queue_pairs(&mut self, device: u32) -> Result<Vec<HostQueuePair>, NetlinkError> {
        let of = [(attribute::DEV_INDEX, device)];
        let (mut unread, mut dropped) = (0, 0);
        let mut take = |message: &[u8], pairs: &mut Vec<HostQueuePair>| {
            let (more, senseless) = answer::queue_pairs(message);
            unread += senseless;
            let room = QUEUE_PAIR_LIMIT - pairs.len();
            dropped += more.len().saturating_sub(room);
            pairs.extend(more.into_iter().take(room));
        };
        let pairs = self.list("queue pairs", Command::QueuePairs, &of, &mut take);
        self.health.add(HealthEvent::RdmaUnreadQueuePairs, unread);
        self.health.add(HealthEvent::RdmaDroppedQueuePairs, dropped as u64);
        pairs
    }

    /// The counters of a port, by the names that `hw_counters` has in sysfs too.
    ///
    /// # Errors
    ///
    /// When the kernel does not answer, or the device has none.
    pub fn statistics(
        &mut self,
        device: u32,
        port: u32,
    ) -> Result<Vec<(String, u64)>, NetlinkError> {
        let of = [(attribute::DEV_INDEX, device), (attribute::PORT_INDEX, port)];
        let mut counters = Vec::new();
        let mut take = |message: &[u8]| counters.extend(answer::statistics(message));
        let failed = |source| NetlinkError::Failed { what: "counters", source };
        self.ask(Command::Statistics, false, &of, &mut take).map_err(failed)?;
        Ok(counters)
    }

    /// What was missed since the last call.
    pub fn take_health(&mut self) -> Health {
        std::mem::take(&mut self.health)
    }

    /// A complete list; one that changed while it was written is requested again.
    fn list<T>(
        &mut self,
        what: &'static str,
        command: Command,
        of: &[(u16, u32)],
        take: &mut dyn FnMut(&[u8], &mut Vec<T>),
    ) -> Result<Vec<T>, NetlinkError> {
        let failed = |source| NetlinkError::Failed { what, source };
        let mut list = Vec::new();
        for _ in 0..TRIES {
            list.clear();
            let is_whole = self.ask(command, true, of, &mut |message| take(message, &mut list));
            if is_whole.map_err(failed)? {
                return Ok(list);
            }
        }
        self.health.add(HealthEvent::RdmaInterruptedLists, 1);
        Ok(list)
    }

    /// Sends a request and takes all messages of the answer. Returns whether it is complete.
    fn ask(
        &mut self,
        command: Command,
        is_dump: bool,
        of: &[(u16, u32)],
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<bool> {
        self.number = self.number.wrapping_add(1);
        let request = message::request(command, is_dump, self.number, of);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let mut is_whole = true;
        loop {
            // With MSG_TRUNC the length is the datagram's, even if it was truncated.
            let count = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_TRUNC) {
                Err(Errno::EINTR) => continue,
                // The kernel's buffer for the answer overflowed.
                Err(Errno::ENOBUFS) => return Ok(false),
                Err(Errno::EAGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                count => count?,
            };
            let datagram = buffer.get(..count).unwrap_or(&buffer);
            is_whole &= count <= DATAGRAM_BYTES;
            for (message, is_interrupted) in message::messages(datagram, self.number) {
                is_whole &= !is_interrupted;
                match message {
                    Message::Attributes(attributes) => take(attributes),
                    Message::End => return Ok(is_whole),
                    Message::Refused(error) => return Err(io::Error::from_raw_os_error(error)),
                }
            }
        }
    }
}
