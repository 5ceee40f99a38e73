//! One observed interface: turns its frames into what a capture would contain.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::net::if_::{if_nameindex, if_nametoindex};

use super::config::AfPacketConfig;
use super::error::AfPacketError;
use super::filter;
use super::promiscuous::Promiscuous;
use super::sys::{Hardware, RawFrame, Ring};
use crate::ingest::interface_losses::InterfaceLosses;
use crate::ingest::live::{LiveEvent, Silence};
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;

/// Offset of a VLAN tag: after both addresses.
const TAG_PLACE: usize = 12;
const TAG_BYTES: u32 = 4;

/// How long the kernel may hold back a block that is not full.
const RETIRE: Duration = Duration::from_millis(20);

/// When the last block of an interface that was removed has surely come.
const LAST_BLOCK: Duration = Duration::from_millis(100);

/// An interface with its ring.
#[derive(Debug)]
pub(super) struct PacketPort {
    name: String,
    id: TapId,
    hardware: Hardware,
    link_type: LinkType,
    ring: Ring,
    _promiscuous: Option<Promiscuous>,
    /// `None` if the kernel does not say.
    losses: Option<InterfaceLosses>,
    /// It was down when last heard of: the kernel does not report that it was removed then.
    is_down: bool,
    /// Since when it is known that the interface was removed.
    removed: Option<Instant>,
    /// It was removed, and all its frames were delivered.
    is_spent: bool,
    /// What is to be said of it.
    news: Vec<String>,
    /// Buffer for a frame with its tag restored.
    tagged: Vec<u8>,
}

impl PacketPort {
    /// Observes an interface.
    pub(super) fn open(
        name: &str,
        id: TapId,
        config: &AfPacketConfig,
    ) -> Result<Self, AfPacketError> {
        let name = name.to_owned();
        let refused = |source: io::Error| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => AfPacketError::NotAllowed { name: name.clone() },
            _ => AfPacketError::Open { name: name.clone(), source },
        };
        let Ok(index) = if_nametoindex(name.as_str()) else {
            return Err(AfPacketError::NoInterface { name, have: interfaces() });
        };
        // The type is known once a socket is bound. The filter assumes Ethernet, which is right for nearly
        // all interfaces.
        let program = filter::program(config.roce_bytes, config.other_bytes);
        let open = |program| {
            // A frame passes a loopback interface twice, out and in.
            Ring::open(index, name == "lo", program, config.ring_mebibytes, RETIRE)
        };
        let mut ring = open(Some(&program)).map_err(refused)?;
        let gone = || AfPacketError::NoInterface { name: name.clone(), have: interfaces() };
        let hardware = ring.hardware().map_err(refused)?.ok_or_else(gone)?;
        let link_type = match hardware.kind {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => LinkType::Ethernet,
            // A tunnel.
            libc::ARPHRD_NONE => LinkType::RawIp,
            kind => return Err(AfPacketError::Foreign { name, kind }),
        };
        if link_type != LinkType::Ethernet {
            ring = open(None).map_err(refused)?;
        }
        let promiscuous = config.promiscuous.then(|| Promiscuous::open(&name));
        Ok(Self {
            _promiscuous: promiscuous.transpose().map_err(refused)?,
            losses: InterfaceLosses::open(index, true).ok(),
            news: hidden(index),
            name,
            id,
            hardware,
            link_type,
            ring,
            is_down: false,
            removed: None,
            is_spent: false,
            tagged: Vec::new(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn id(&self) -> TapId {
        self.id
    }

    /// Whether the interface is gone. What passed it before may still come.
    pub(super) const fn is_removed(&self) -> bool {
        self.removed.is_some()
    }

    /// Whether no frame will ever come again.
    pub(super) const fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// What the user should know of it, once.
    pub(super) fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Whether frames can pass.
    pub(super) const fn is_up(&self) -> bool {
        self.removed.is_none() && !self.is_down
    }

    pub(super) fn tap(&self) -> Tap {
        Tap {
            file: self.name.clone(),
            format: TapFormat::AfPacket,
            interface: Some(self.name.clone()),
            link_type: self.link_type,
            // Only RoCE packets are truncated.
            snap_len: None,
            line_rate_bps: None,
        }
    }

    /// Time of its next frame.
    pub(super) fn head(&mut self) -> Option<u64> {
        self.ring.head()
    }

    /// Delivers the frame that `head` found; it is that `number` of its tap.
    pub(super) fn hand_out(&mut self, number: u64, sink: &mut dyn FnMut(LiveEvent<'_>)) {
        let Some(raw) = self.ring.frame() else { return };
        self.is_down = false;
        let (mut bytes, mut wire_len) = (raw.bytes, raw.wire_len);
        if let (Some([tpid, tci]), Some((addresses, rest))) =
            (raw.tag, bytes.split_at_checked(TAG_PLACE))
        {
            self.tagged.clear();
            self.tagged.extend_from_slice(addresses);
            self.tagged.extend_from_slice(&tpid.to_be_bytes());
            self.tagged.extend_from_slice(&tci.to_be_bytes());
            self.tagged.extend_from_slice(rest);
            (bytes, wire_len) = (&self.tagged, wire_len.saturating_add(TAG_BYTES));
        }
        sink(LiveEvent::Frame(Frame {
            tap: self.id,
            number,
            time: Timestamp::from_nanos(raw.time_ns),
            wire_len,
            bytes,
            link_type: self.link_type,
            direction: direction(&raw, self.hardware.address),
        }));
        self.ring.advance();
    }

    /// Reports losses, those of the interface now and then or `at_once`, and an interface that is down or
    /// gone.
    pub(super) fn report_trouble(
        &mut self,
        at_once: bool,
        sink: &mut dyn FnMut(LiveEvent<'_>),
    ) -> io::Result<()> {
        if self.is_spent {
            return Ok(());
        }
        let before = self.losses.as_mut().map_or(0, |losses| losses.take(at_once));
        let (tap, frames) = (self.id, self.ring.take_dropped()? + before);
        if frames > 0 {
            sink(LiveEvent::Lost { tap, frames });
        }
        if let Some(removed) = self.removed {
            self.is_spent = removed.elapsed() > LAST_BLOCK && self.ring.head().is_none();
            return Ok(());
        }
        let error = self.ring.take_error()?;
        if error.is_none() && !self.is_down {
            return Ok(());
        }
        if self.notice_removal()? {
            sink(LiveEvent::Silent { tap, why: Silence::Removed });
        } else if let Some(error) = error {
            self.is_down = error.raw_os_error() == Some(libc::ENETDOWN);
            let why = match self.is_down {
                true => Silence::Down,
                false => Silence::Failed(error.to_string()),
            };
            sink(LiveEvent::Silent { tap, why });
        }
        Ok(())
    }

    /// Looks whether the interface is gone, and says so.
    pub(super) fn notice_removal(&mut self) -> io::Result<bool> {
        if self.removed.is_none() && self.ring.hardware()?.is_none() {
            self.removed = Some(now());
        }
        Ok(self.is_removed())
    }
}

impl AsFd for PacketPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

#[expect(clippy::disallowed_methods, reason = "the last block is waited for")]
fn now() -> Instant {
    Instant::now()
}

/// Direction of a frame that this interface itself sent or received; `None` for frames of other hosts,
/// which a bridge or mirror forwards.
fn direction(raw: &RawFrame<'_>, own: [u8; 6]) -> Option<Direction> {
    if own == [0; 6] {
        return None;
    }
    let source = raw.bytes.get(6..TAG_PLACE);
    match raw.kind {
        libc::PACKET_HOST => Some(Direction::Received),
        libc::PACKET_OUTGOING if source == Some(&own) => Some(Direction::Sent),
        _ => None,
    }
}

#[cfg(feature = "live")]
fn hidden(index: u32) -> Vec<String> {
    crate::ingest::interfaces::hidden_by_xdp(index)
}

#[cfg(not(feature = "live"))]
const fn hidden(_: u32) -> Vec<String> {
    Vec::new()
}

/// The interfaces of the calling thread's network namespace.
fn interfaces() -> String {
    let all = if_nameindex().ok();
    let names = all.iter().flatten().map(|one| one.name().to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(kind: u8, bytes: &[u8]) -> RawFrame<'_> {
        RawFrame { time_ns: 0, wire_len: 0, bytes, tag: None, kind }
    }

    #[test]
    fn what_is_passed_on_is_another_hosts() {
        let (own, other) = ([2; 6], [4; 6]);
        let ours = [[9; 6], own].concat();
        let theirs = [[9; 6], other].concat();
        assert_eq!(direction(&raw(libc::PACKET_OUTGOING, &ours), own), Some(Direction::Sent));
        assert_eq!(direction(&raw(libc::PACKET_OUTGOING, &theirs), own), None);
        assert_eq!(direction(&raw(libc::PACKET_HOST, &theirs), own), Some(Direction::Received));
        assert_eq!(direction(&raw(libc::PACKET_OTHERHOST, &theirs), own), None);
        assert_eq!(direction(&raw(libc::PACKET_HOST, &theirs), [0; 6]), None);
    }
}
