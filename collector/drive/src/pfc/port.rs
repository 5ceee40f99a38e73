//! One end of a link: it asks the other end to pause, and hears what that asks for.

use std::ffi::c_int;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockFlag, recvmsg, send, setsockopt};
use nix::sys::time::TimeSpec;

use super::frame::{MAC_CONTROL, Pause};
use crate::{DriveError, Result, clock, packet_socket};

/// Longer than any PFC frame.
const FRAME: usize = 128;

/// A port.
#[derive(Debug)]
pub struct Port {
    socket: OwnedFd,
    mac: [u8; 6],
    name: String,
}

impl Port {
    /// Opens the port of an interface in the calling thread's namespace.
    ///
    /// # Errors
    /// There is none, or `CAP_NET_RAW` is missing.
    pub fn open(interface: &str) -> Result<Self> {
        let failed = || DriveError::io(format!("send pause frames at {interface}"));
        let all = getifaddrs().map_err(|error| failed()(error.into()))?;
        let mut own = all.filter(|one| one.interface_name == interface);
        let mac = own.find_map(|one| one.address?.as_link_addr()?.addr()).ok_or_else(|| {
            DriveError::Unusable(format!(
                "{interface} has no MAC address to send pause frames from"
            ))
        })?;
        let socket = open(interface).map_err(failed())?;
        setsockopt(&socket, ReceiveTimestampns, &true).map_err(|error| failed()(error.into()))?;
        Ok(Self { socket, mac, name: interface.to_owned() })
    }

    /// Asks the other end. A frame for which the kernel has no room is lost; returns whether it left.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn ask(&self, pause: &Pause) -> Result<bool> {
        let frame = pause.encode(self.mac);
        match send(self.socket.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// What the other end asks for next, and when that came, in ns of `CLOCK_REALTIME`; `None` if it has
    /// not asked since.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hear(&self) -> Result<Option<(Pause, u64)>> {
        let (mut frame, mut control) = ([0; FRAME], nix::cmsg_space!(TimeSpec));
        loop {
            let mut parts = [IoSliceMut::new(&mut frame)];
            let (socket, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
            let came = match recvmsg::<()>(socket, &mut parts, Some(&mut control), flags) {
                Ok(came) => came,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(self.failed(error)),
            };
            let stamps = came.cmsgs().map_err(|error| self.failed(error))?;
            let stamp = stamps.into_iter().find_map(|one| match one {
                ControlMessageOwned::ScmTimestampns(time) => Some(wall_ns(&time)),
                _ => None,
            });
            let bytes = came.bytes;
            if let Some(pause) = frame.get(..bytes).and_then(Pause::parse) {
                return Ok(Some((pause, stamp.unwrap_or_else(clock::wall_ns))));
            }
        }
    }

    fn failed(&self, error: Errno) -> DriveError {
        DriveError::io(format!("pause frames at {}", self.name))(error.into())
    }
}

/// A socket that sends frames as they are, and receives MAC control frames that come from the other end.
fn open(interface: &str) -> io::Result<OwnedFd> {
    let socket = packet_socket::open(SockFlag::SOCK_NONBLOCK)?;
    let yes: c_int = 1;
    packet_socket::set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &yes)?;
    let operation = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mac_control = [
        // BPF_LD | BPF_H | BPF_ABS; BPF_JMP | BPF_JEQ | BPF_K; BPF_RET | BPF_K
        operation(0x28, 0, 0, 12),
        operation(0x15, 0, 1, MAC_CONTROL.into()),
        operation(0x06, 0, 0, u32::MAX),
        operation(0x06, 0, 0, 0),
    ];
    packet_socket::keep_only(&socket, mac_control)?;
    // Of all protocols: a port of a bridge shows its frames to no other socket.
    packet_socket::bind(&socket, interface)?;
    Ok(socket)
}

fn wall_ns(time: &TimeSpec) -> u64 {
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec()).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec()))
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
