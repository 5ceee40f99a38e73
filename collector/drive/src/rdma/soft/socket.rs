//! The UDP sockets of an adapter: one that receives at port 4791, and one per source port for
//! sending.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::batch::Batch;
use super::packet::{OVERHEAD_BYTES, PORT};
use super::sys::{self, Received};
use crate::{DriveError, Result};

/// Requested receive buffer; the kernel gives unprivileged users less.
const RECEIVE_BUFFER: i32 = 16 << 20;
/// Number and duration of waits for a full send buffer.
const PATIENCE: (u32, Duration) = (20, Duration::from_millis(50));

/// The port of an adapter.
#[derive(Debug)]
pub struct SoftPort {
    address: IpAddr,
    receiver: UdpSocket,
    senders: BTreeMap<u16, UdpSocket>,
    /// One packet buffer per slot.
    slots: Vec<Vec<u8>>,
    received: Vec<Received>,
    overflowed: u32,
}

impl SoftPort {
    /// Binds port 4791 of `address`.
    ///
    /// # Errors
    /// Another process uses it, or the address is not this host's.
    pub fn open(address: IpAddr, mtu: usize) -> Result<Self> {
        let receiver = UdpSocket::bind((address, PORT)).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => DriveError::Unusable(format!(
                "UDP port {PORT} of {address} is in use: rdma_rxe or another rank has it (`ss \
                 -ulpn` shows it). Each rank needs an address of its own: --place netns, userns or \
                 loopback see to that, or take --transport socket"
            )),
            _ => DriveError::io(format!("bind UDP port {PORT} of {address}"))(error),
        })?;
        let (level, traffic_class) = match address {
            IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVTOS),
            IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
        };
        let set = |level, name, value| {
            sys::set_option(&receiver, level, name, value)
                .map_err(DriveError::io(format!("set up UDP port {PORT} of {address}")))
        };
        set(level, traffic_class, 1)?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER)?;
        // More than net.core.rmem_max needs CAP_NET_ADMIN; without it, the default has to do.
        let _ = sys::set_option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER);
        let slots = vec![vec![0; mtu + OVERHEAD_BYTES]; sys::MOST];
        let (senders, received) = (BTreeMap::new(), Vec::new());
        Ok(Self { address, receiver, senders, slots, received, overflowed: 0 })
    }

    /// Size of the kernel's receive buffer, including its overhead.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn receive_buffer(&self) -> Result<usize> {
        sys::receive_buffer(&self.receiver).map_err(DriveError::io("read SO_RCVBUF"))
    }

    /// A socket that sends from port `wish` or the next free one; returns the port.
    ///
    /// # Errors
    /// No port is free, or the kernel refuses.
    pub fn open_sender(&mut self, wish: u16) -> Result<u16> {
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for port in (wish..=u16::MAX).chain(0xc000..wish) {
            if self.senders.contains_key(&port) {
                return Ok(port);
            }
            match UdpSocket::bind((self.address, port)) {
                Ok(socket) => {
                    set_up_sender(&socket, self.address).map_err(DriveError::io(format!(
                        "set up UDP port {port} of {}",
                        self.address
                    )))?;
                    self.senders.insert(port, socket);
                    return Ok(port);
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                Err(error) => {
                    return Err(DriveError::io(format!("bind UDP port {port}"))(error));
                }
            }
        }
        Err(DriveError::io(format!("bind a UDP port of {} to send from", self.address))(last))
    }

    /// Sends a batch; packets that do not fit are lost, as on a wire. Returns their number.
    ///
    /// # Errors
    /// There is no route to the address, or a packet exceeds the interface's MTU.
    pub fn send(&self, batch: &Batch) -> Result<u64> {
        let Some(socket) = self.senders.get(&batch.source_port()) else { return Ok(0) };
        let mut unsent = 0;
        let to = SocketAddr::new(batch.to(), PORT);
        let mut sends = [sys::Send { bytes: &[], traffic_class: 0 }; sys::MOST];
        let mut left = batch.packets();
        let mut waits = 0;
        while !left.is_empty() {
            let count = left.len().min(sys::MOST);
            for (send, packet) in sends.iter_mut().zip(left) {
                *send = sys::Send { bytes: &packet.bytes, traffic_class: packet.traffic_class };
            }
            match sys::send(socket, to, &sends[..count]) {
                Ok(sent) => left = &left[sent..],
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) if waits < PATIENCE.0 => {
                        waits += 1;
                        sys::wait(socket, true, PATIENCE.1).map_err(DriveError::io("ppoll"))?;
                    }
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN | libc::ENOBUFS) => {
                        unsent += 1;
                        left = &left[1..];
                    }
                    Some(libc::EMSGSIZE) => {
                        return Err(DriveError::Unusable(format!(
                            "packets of {} bytes to {to} are larger than the interface's MTU: \
                             make it 4200 or larger, or use a path MTU of 1024",
                            left[0].bytes.len() + 28
                        )));
                    }
                    _ => {
                        let what = format!("send from {} to {to}", self.address);
                        return Err(DriveError::io(what)(error));
                    }
                },
            }
        }
        Ok(unsent)
    }

    /// Passes received datagrams to `each`; returns how many there were.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn receive(&mut self, mut each: impl FnMut(&Received, &[u8])) -> Result<usize> {
        match sys::receive(&self.receiver, &mut self.slots, &mut self.received) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            Err(error) => {
                let what = format!("receive at UDP port {PORT} of {}", self.address);
                return Err(DriveError::io(what)(error));
            }
        }
        for (received, slot) in self.received.iter().zip(&self.slots) {
            self.overflowed = received.overflowed.unwrap_or(self.overflowed);
            each(received, &slot[..received.bytes]);
        }
        Ok(self.received.len())
    }

    /// Datagrams lost because the receive buffer was full.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        u64::from(self.overflowed)
    }

    /// Waits for a datagram, at most `wait`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn wait(&self, wait: Duration) -> Result<()> {
        sys::wait(&self.receiver, false, wait).map_err(DriveError::io("ppoll"))
    }
}

/// IP headers as a hardware adapter makes them: "don't fragment" and identification 0, which the
/// ICRC covers, no UDP checksum, 64 hops.
fn set_up_sender(socket: &UdpSocket, address: IpAddr) -> io::Result<()> {
    let options = match address {
        IpAddr::V4(_) => [
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
            (libc::IPPROTO_IP, libc::IP_TTL, 64),
            (libc::SOL_SOCKET, libc::SO_NO_CHECK, 1),
        ],
        // IPv6 requires a UDP checksum; the ICRC does not cover it.
        IpAddr::V6(_) => [
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO),
            (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 64),
            (libc::SOL_SOCKET, libc::SO_SNDBUF, 4 << 20),
        ],
    };
    sys::set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 << 20)?;
    options.iter().try_for_each(|&(level, name, value)| sys::set_option(socket, level, name, value))
}
