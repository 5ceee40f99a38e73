//! NET/Socket: messages over TCP.
//!
//! A link is one control connection and any number of data connections, all opened by the sender.
//! Each message starts with its size on the control connection. The rest is cut into pieces that
//! alternate between the data connections; without data connections, NCCL's default, it follows on
//! the control connection. There is no clear-to-send: TCP's flow control holds the sender back.
//! Messages of a link are sent one after the other.
//!
//! Sources: NCCL 2.21.5 and 2.27.7, `src/transport/net_socket.cc`.

mod direction;
mod opening;
mod stripe;
mod sys;
mod transfer;

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use self::direction::Direction;
use self::opening::Opening;
use self::stripe::Connections;
use self::transfer::{Transfer, Transfers};
use super::{Finished, LinkFacts, LinkSpec, Net, NetHandle, ReceiveLink, Request, SendLink};
use crate::clock::Deadline;
use crate::collective::slicing::BUFFER_BYTES;
use crate::release::Release;
use crate::tcp::{self, Lookout};
use crate::wire::net_socket_handle::NetSocketHandle;
use crate::{DriveError, Result};

/// Polling interval while links are created.
const GLANCE: Duration = Duration::from_millis(1);

/// NET/Socket at one address.
#[derive(Debug)]
pub struct Socket {
    release: Release,
    settings: SocketSettings,
    address: IpAddr,
    links: Vec<Link>,
    /// Index of each end in `links`.
    senders: Vec<usize>,
    receivers: Vec<usize>,
    openings: Vec<Opening>,
    last_request: u64,
}

/// `NCCL_SOCKET_NTHREADS` and `NCCL_NSOCKS_PERTHREAD`. NCCL's default is 0 threads, and so 0 data
/// connections, except on the NICs of two clouds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketSettings {
    /// Threads that NCCL would start; here only their number matters.
    pub threads: u32,
    /// Data connections per thread.
    pub sockets_per_thread: u32,
}

/// One end of a link.
#[derive(Debug)]
struct Link {
    spec: LinkSpec,
    direction: Direction,
    buffer: Vec<u8>,
    facts: LinkFacts,
    connections: Option<Connections>,
    transfers: Transfers,
}

impl Socket {
    /// Creates links that use `address`.
    #[must_use]
    pub fn new(release: Release, settings: SocketSettings, address: IpAddr) -> Self {
        Self {
            release,
            settings,
            address,
            links: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            openings: Vec::new(),
            last_request: 0,
        }
    }

    /// Sends at most as many bytes a second as `rate` says for a receiving rank; `None`: without limit.
    /// The kernel paces its TCP, as a slow path would.
    ///
    /// # Errors
    /// The system cannot pace.
    pub fn limit(&mut self, rate: impl Fn(u32) -> Option<u64>) -> Result<()> {
        for at in &self.senders {
            let link = &self.links[*at];
            let wanted = rate(link.spec.receiver).unwrap_or(u64::MAX);
            for stream in link.connections.iter().flat_map(Connections::streams) {
                sys::set_max_pacing_rate(stream, wanted)
                    .map_err(DriveError::io("limit the rate of a connection"))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, spec: LinkSpec, direction: Direction) -> usize {
        self.links.push(Link {
            spec,
            direction,
            buffer: vec![0; BUFFER_BYTES],
            facts: LinkFacts::default(),
            connections: None,
            transfers: Transfers::default(),
        });
        self.links.len() - 1
    }

    fn post(&mut self, link: usize, offset: usize, bytes: usize) -> Result<Request> {
        self.last_request += 1;
        let request = Request(self.last_request);
        let link = &mut self.links[link];
        link.transfers.push(Transfer::new(request, offset..offset + bytes));
        link.advance(self.release)?;
        Ok(request)
    }
}

impl Link {
    /// Moves what it can; returns whether anything moved.
    fn advance(&mut self, release: Release) -> Result<bool> {
        let Some(connections) = &mut self.connections else { return Ok(false) };
        let (transfers, buffer) = (&mut self.transfers, &mut self.buffer);
        let moved = transfers.advance(self.direction, connections, buffer, release);
        moved.map_err(|failure| {
            let LinkSpec { channel, sender, receiver } = self.spec;
            let (peer, during) = match self.direction {
                Direction::Out => (receiver, "sending to it"),
                Direction::In => (sender, "receiving from it"),
            };
            failure.into_error(format!("rank {peer}"), format!("{during} on channel {channel}"))
        })
    }
}

impl Net for Socket {
    fn name(&self) -> &'static str {
        "Socket"
    }

    fn listen(&mut self, link: &LinkSpec) -> Result<(ReceiveLink, NetHandle)> {
        let listener = tcp::listen(self.address)?;
        let SocketSettings { threads, sockets_per_thread } = self.settings;
        let handle = NetSocketHandle {
            listener: tcp::address_of(&listener)?,
            sockets: threads * sockets_per_thread,
            threads,
        };
        let at = self.add(*link, Direction::In);
        self.receivers.push(at);
        self.openings.push(Opening::of_receiver(at, *link, listener, handle.sockets as usize));
        Ok((ReceiveLink(self.receivers.len() - 1), handle.encode()))
    }

    fn connect(&mut self, link: &LinkSpec, handle: &NetHandle) -> Result<SendLink> {
        let handle = NetSocketHandle::parse(handle).map_err(|what| DriveError::Protocol {
            peer: format!("rank {}", link.receiver),
            what,
        })?;
        let at = self.add(*link, Direction::Out);
        self.senders.push(at);
        self.openings.push(Opening::of_sender(at, *link, handle));
        Ok(SendLink(self.senders.len() - 1))
    }

    fn establish(&mut self, lookout: &Lookout, deadline: Deadline) -> Result<()> {
        for opening in &mut self.openings {
            opening.start(self.address, lookout, deadline)?;
        }
        loop {
            let mut unfinished = None;
            for opening in &mut self.openings {
                if let Some((at, connections)) = opening.advance()? {
                    let link = &mut self.links[at];
                    link.facts = connections.facts(link.direction);
                    link.connections = Some(connections);
                } else if !opening.is_done() {
                    unfinished = Some(&*opening);
                }
            }
            let Some(unfinished) = unfinished else { break };
            deadline.check(|| unfinished.waits_for())?;
            lookout.check(|| format!("waiting for {}", unfinished.waits_for()))?;
            self.progress(GLANCE)?;
        }
        self.openings.clear();
        Ok(())
    }

    fn sender_facts(&self, link: SendLink) -> &LinkFacts {
        &self.links[self.senders[link.0]].facts
    }

    fn receiver_facts(&self, link: ReceiveLink) -> &LinkFacts {
        &self.links[self.receivers[link.0]].facts
    }

    fn send_buffer(&mut self, link: SendLink) -> &mut [u8] {
        &mut self.links[self.senders[link.0]].buffer
    }

    fn receive_buffer(&self, link: ReceiveLink) -> &[u8] {
        &self.links[self.receivers[link.0]].buffer
    }

    fn post_receive(
        &mut self,
        link: ReceiveLink,
        offset: usize,
        capacity: usize,
    ) -> Result<Request> {
        self.post(self.receivers[link.0], offset, capacity)
    }

    fn post_send(
        &mut self,
        link: SendLink,
        offset: usize,
        bytes: usize,
    ) -> Result<Option<Request>> {
        self.post(self.senders[link.0], offset, bytes).map(Some)
    }

    fn test(&mut self, request: Request) -> Result<Option<Finished>> {
        Ok(self.links.iter_mut().find_map(|link| link.transfers.take(request)))
    }

    fn progress(&mut self, wait: Duration) -> Result<()> {
        let mut moved = false;
        for link in &mut self.links {
            moved |= link.advance(self.release)?;
        }
        if moved || wait.is_zero() {
            return Ok(());
        }
        let mut fds = Vec::new();
        for link in &self.links {
            let (Some(connections), Some(place)) = (&link.connections, link.transfers.waits_at())
            else {
                continue;
            };
            let events = match link.direction {
                Direction::Out => PollFlags::POLLOUT,
                Direction::In => PollFlags::POLLIN,
            };
            fds.push(PollFd::new(connections.stream(place).as_fd(), events));
        }
        let millis = u16::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
        match poll(&mut fds, PollTimeout::from(millis)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(DriveError::io("poll")(errno.into())),
        }
        for link in &mut self.links {
            link.advance(self.release)?;
        }
        Ok(())
    }
}
