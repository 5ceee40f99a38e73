//! Datagrams of sFlow that switches send to this host, from a UDP socket: no interface is captured, and no
//! right is needed.
//!
//! Each datagram becomes a frame of a tap of its own: IP and UDP headers made of the addresses, as raw IP.
//! What a queue in the kernel had no room for is known from `SO_RXQ_OVFL`, and comes with the next datagram.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    self, AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrIn6,
    SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

use super::live::{LiveEvent, LiveSource, Silence};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;

/// The assigned UDP port of collectors: by it, the decoder knows what the datagrams are.
const UDP_PORT: u16 = 6343;

/// The longest datagram.
const LONGEST: usize = u16::MAX as usize;

/// Most datagrams that one poll delivers.
const MOST_DATAGRAMS: u32 = 4096;

/// Bytes that wait in the kernel: some thousand datagrams. It grants less to those who lack `CAP_NET_ADMIN`
/// (`net.core.rmem_max`).
const QUEUE_BYTES: usize = 8 << 20;

/// The only tap.
const TAP: TapId = TapId(0);

/// Why nothing can be received.
#[derive(Debug, thiserror::Error)]
pub enum SflowSocketError {
    /// Another program has the port.
    #[error(
        "receive sFlow at {0}: another program listens there (`ss -ulnp sport = :{port}` names it)",
        port = .0.port()
    )]
    Taken(SocketAddr),
    /// The kernel refuses.
    #[error("receive sFlow at {address}")]
    Open {
        /// Where.
        address: SocketAddr,
        /// Its reason.
        #[source]
        source: io::Error,
    },
}

/// A socket that switches send to.
pub struct SflowSocket {
    socket: UdpSocket,
    address: SocketAddr,
    /// Headers, and room for the longest datagram.
    buffer: Vec<u8>,
    /// What the latest message says.
    control: Vec<u8>,
    is_announced: bool,
    has_failed: bool,
    datagrams: u64,
    /// Datagrams that the kernel dropped, as it counts them: the counter wraps.
    dropped: u32,
}

impl fmt::Debug for SflowSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SflowSocket").field("address", &self.address).finish_non_exhaustive()
    }
}

impl SflowSocket {
    /// Listens at this address. `[::]` is IPv4, too; on a host without IPv6 it is IPv4 only.
    ///
    /// # Errors
    ///
    /// The port is taken or not allowed, or this host does not have the address.
    pub fn open(address: SocketAddr) -> Result<Self, SflowSocketError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => SflowSocketError::Taken(address),
            _ => SflowSocketError::Open { address, source },
        };
        let socket = bind(address).map_err(refused)?;
        let checked = |result: nix::Result<()>| result.map_err(|error| refused(error.into()));
        checked(setsockopt(&socket, sockopt::RxqOvfl, &1))?;
        checked(setsockopt(&socket, sockopt::ReceiveTimestampns, &true))?;
        // More than the limit only with a right, up to the limit without: what it is does not matter.
        if setsockopt(&socket, sockopt::RcvBufForce, &QUEUE_BYTES).is_err() {
            _ = setsockopt(&socket, sockopt::RcvBuf, &QUEUE_BYTES);
        }
        socket.set_nonblocking(true).map_err(refused)?;
        Ok(Self {
            address: socket.local_addr().map_err(refused)?,
            socket,
            buffer: vec![0; HEADERS + LONGEST],
            control: nix::cmsg_space!(TimeSpec, u32),
            is_announced: false,
            has_failed: false,
            datagrams: 0,
            dropped: 0,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    fn tap(&self) -> Tap {
        Tap {
            file: ["sflow:", &self.address.to_string()].concat(),
            format: TapFormat::Sflow,
            interface: None,
            link_type: LinkType::RawIp,
            snap_len: None,
            line_rate_bps: None,
        }
    }

    /// Delivers the next datagram; `false` if there is none.
    fn receive(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) -> nix::Result<bool> {
        let Self { socket, buffer, control, .. } = self;
        let (headers, payload) = buffer.split_at_mut(HEADERS);
        let mut parts = [IoSliceMut::new(payload)];
        let fd = socket.as_raw_fd();
        let received =
            recvmsg::<SockaddrStorage>(fd, &mut parts, Some(control), MsgFlags::MSG_DONTWAIT);
        let received = match received {
            Ok(received) => received,
            Err(nix::Error::EAGAIN) => return Ok(false),
            Err(error) => return Err(error),
        };
        let (len, sender) = (received.bytes, received.address.as_ref().and_then(sender));
        let (mut time, mut dropped) = (None, self.dropped);
        for message in received.cmsgs()? {
            match message {
                ControlMessageOwned::ScmTimestampns(stamp) => time = Some(Duration::from(stamp)),
                ControlMessageOwned::RxqOvfl(count) => dropped = count,
                _ => {}
            }
        }
        let lost = dropped.wrapping_sub(std::mem::replace(&mut self.dropped, dropped));
        if lost > 0 {
            sink(LiveEvent::Lost { tap: TAP, frames: lost.into() });
        }
        let Some(sender) = sender else { return Ok(true) };
        let since_1970 = time.unwrap_or_else(now);
        let start = write_headers(headers, sender, self.address, len);
        let Some(bytes) = self.buffer.get(start..HEADERS + len) else { return Ok(true) };
        self.datagrams += 1;
        sink(LiveEvent::Frame(Frame {
            tap: TAP,
            number: self.datagrams,
            time: Timestamp::from_nanos(u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)),
            wire_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            bytes,
            link_type: LinkType::RawIp,
            direction: None,
        }));
        Ok(true)
    }

    /// Delivers what is there. Returns whether there was anything.
    fn receive_all(&mut self, sink: &mut dyn FnMut(LiveEvent<'_>)) -> bool {
        for received in 0..MOST_DATAGRAMS {
            match self.receive(sink) {
                Ok(true) => {}
                Ok(false) => return received > 0,
                // Memory may be there again the next time.
                Err(nix::Error::EINTR | nix::Error::ENOBUFS | nix::Error::ENOMEM) => return true,
                Err(error) => {
                    self.has_failed = true;
                    let why = Silence::Failed(io::Error::from(error).to_string());
                    sink(LiveEvent::Silent { tap: TAP, why });
                    return true;
                }
            }
        }
        true
    }
}

impl LiveSource for SflowSocket {
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_announced, true) {
            sink(LiveEvent::Tap(self.tap()));
        }
        if self.has_failed {
            std::thread::sleep(patience);
            return Ok(());
        }
        if self.receive_all(sink) || patience.is_zero() {
            return Ok(());
        }
        let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut polled, patience) {
            Ok(_) | Err(nix::Error::EINTR) => _ = self.receive_all(sink),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.has_failed
    }

    fn is_patient(&self) -> bool {
        true
    }

    fn completeness(&self) -> Vec<String> {
        vec![format!(
            "sFlow that switches send to {}: what they sample of all traffic, and no packet of this host; \
             datagrams dropped for a full queue are counted as lost",
            self.address
        )]
    }
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    match address {
        SocketAddr::V6(all) if all.ip().is_unspecified() => match bind_both(all) {
            // A host without IPv6.
            Err(nix::Error::EAFNOSUPPORT) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, all.port())),
            bound => Ok(bound?),
        },
        one => UdpSocket::bind(one),
    }
}

/// For IPv4, too, whatever `net.ipv6.bindv6only` says.
fn bind_both(address: SocketAddrV6) -> nix::Result<UdpSocket> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket::socket(AddressFamily::Inet6, SockType::Datagram, flags, None)?;
    setsockopt(&socket, sockopt::Ipv6V6Only, &false)?;
    socket::bind(socket.as_raw_fd(), &SockaddrIn6::from(address))?;
    Ok(socket.into())
}

/// The address and port of a sender; an IPv4 one that comes through IPv6 is one of IPv4.
fn sender(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = || Some(SocketAddr::from(std::net::SocketAddrV4::from(*address.as_sockaddr_in()?)));
    let v6 = || Some(SocketAddr::from(SocketAddrV6::from(*address.as_sockaddr_in6()?)));
    let sender = v4().or_else(v6)?;
    Some(SocketAddr::new(sender.ip().to_canonical(), sender.port()))
}

/// IPv6 and UDP.
const HEADERS: usize = 48;

/// Writes headers that end where the datagram begins, and returns where they start. Their checksums are 0: the
/// kernel has checked those that came. The port is that of sFlow, wherever the socket listens.
fn write_headers(room: &mut [u8], from: SocketAddr, to: SocketAddr, len: usize) -> usize {
    let word = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
    let mut headers = Vec::with_capacity(HEADERS);
    match from.ip() {
        IpAddr::V4(ip) => {
            let here = match to.ip().to_canonical() {
                IpAddr::V4(here) => here,
                IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
            };
            headers.extend([0x45, 0]);
            headers.extend(word(28 + len));
            headers.extend([0, 0, 0, 0, 64, 17, 0, 0]);
            headers.extend(ip.octets());
            headers.extend(here.octets());
        }
        IpAddr::V6(ip) => {
            let here = match to.ip() {
                IpAddr::V6(here) => here,
                IpAddr::V4(here) => here.to_ipv6_mapped(),
            };
            headers.extend([0x60, 0, 0, 0]);
            headers.extend(word(8 + len));
            headers.extend([17, 64]);
            headers.extend(ip.octets());
            headers.extend(here.octets());
        }
    }
    headers.extend(from.port().to_be_bytes());
    headers.extend(UDP_PORT.to_be_bytes());
    headers.extend(word(8 + len));
    headers.extend([0, 0]);
    let start = room.len().saturating_sub(headers.len());
    if let Some(place) = room.get_mut(start..) {
        place.copy_from_slice(&headers);
    }
    start
}

#[expect(clippy::disallowed_methods, reason = "a datagram that the kernel has not stamped")]
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
