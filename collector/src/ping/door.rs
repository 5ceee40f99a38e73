//! The listening port: greets hosts of the same command line, and refuses all others with a reason.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::clock::now;
use super::link::{Event, Link, Way, read};
use super::protocol::{
    Answer, Hello, Member, Until, bounded, read_frame, read_version, write_frame, write_version,
};

/// Longest greeting.
pub(super) const GREETING: Duration = Duration::from_secs(5);

/// Greetings at once: more are closed unread.
const GREETINGS: usize = 256;

/// How often it looks whether the ping is over.
const LOOK: Duration = Duration::from_millis(100);

/// What all threads know.
pub(super) struct Door {
    /// This host, as it introduces itself.
    pub(super) own: Member,
    /// Set once the rounds begin: who comes later is refused.
    pub(super) has_begun: AtomicBool,
    /// Set once the ping is over.
    pub(super) is_over: AtomicBool,
    greetings: AtomicUsize,
}

impl Door {
    pub(super) fn new(own: Member) -> Self {
        let (has_begun, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { own, has_begun, is_over, greetings: AtomicUsize::new(0) }
    }

    /// Listens on all addresses.
    ///
    /// # Errors
    /// The port is taken, or not allowed.
    pub(super) fn open(
        self: &Arc<Self>,
        port: u16,
        events: &SyncSender<Event>,
    ) -> io::Result<thread::JoinHandle<()>> {
        // Without IPv6 only IPv4.
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|error| {
            let is_taken = error.kind() == io::ErrorKind::AddrInUse;
            if is_taken { Err(error) } else { TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)) }
        })?;
        listener.set_nonblocking(true)?;
        let (door, events) = (Arc::clone(self), events.clone());
        thread::Builder::new().name("door".to_owned()).spawn(move || door.watch(&listener, &events))
    }

    fn watch(self: &Arc<Self>, listener: &TcpListener, events: &SyncSender<Event>) {
        let look = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
        while !self.is_over.load(Ordering::Relaxed) {
            let mut source = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            if poll(&mut source, look).is_err() {
                continue;
            }
            while let Ok((stream, _)) = listener.accept() {
                let before = self.greetings.fetch_add(1, Ordering::Relaxed);
                let (door, events) = (Arc::clone(self), events.clone());
                let greet = move || {
                    let member = door.greet(&stream, &events);
                    door.greetings.fetch_sub(1, Ordering::Relaxed);
                    if let Some(host) = member {
                        read(stream, host, Way::In, &events);
                    }
                };
                let is_full = before >= GREETINGS;
                if is_full || thread::Builder::new().spawn(greet).is_err() {
                    self.greetings.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Greets a connection. Returns the host that takes part from now on.
    fn greet(&self, stream: &TcpStream, events: &SyncSender<Event>) -> Option<usize> {
        stream.set_nonblocking(false).ok()?;
        stream.set_write_timeout(Some(GREETING)).ok()?;
        let mut from = Until { stream, deadline: now() + GREETING };
        let mut to = stream;
        write_version(&mut to).ok()?;
        // Whoever sends anything else may be a scanner: nothing to tell anybody.
        read_version(&mut from).ok()?;
        match read_frame(&mut from).ok()? {
            Hello::Data(data) => {
                stream.set_read_timeout(None).ok()?;
                let stream = stream.try_clone().ok()?;
                _ = events.send(Event::Data { data, stream });
                None
            }
            Hello::Member(member) => {
                let host = member.host;
                if let Some(why) = self.objection(&member) {
                    _ = write_frame(&mut to, &Answer::Refused(bounded(&why)));
                    let is_other = host < self.own.hosts.len() && host != self.own.host;
                    if is_other && !self.has_begun.load(Ordering::SeqCst) {
                        _ = events.send(Event::Refused { host, why });
                    }
                    return None;
                }
                let link = Link::new(stream).ok()?;
                write_frame(&mut to, &Answer::Welcome(self.own.clone())).ok()?;
                events.send(Event::Joined { host, way: Way::In, link, member }).ok()?;
                Some(host)
            }
        }
    }

    /// Why a host may not take part.
    fn objection(&self, member: &Member) -> Option<String> {
        let own = &self.own;
        let me = own.hosts.get(own.host).map_or("?", String::as_str);
        if member.hosts != own.hosts {
            return Some(format!(
                "{me} was started with other hosts ({}): give all hosts the same list",
                own.hosts.join(" ")
            ));
        }
        if member.options != own.options {
            return Some(format!(
                "{me} was started with other options ({}, here {}): give all hosts the same",
                own.options, member.options
            ));
        }
        if member.host == own.host || member.host >= own.hosts.len() {
            return Some(format!(
                "this host and {me} are the same one of the hosts: start the ping once per host, \
                 and check --as and what the names resolve to"
            ));
        }
        if self.has_begun.load(Ordering::SeqCst) {
            return Some(format!(
                "{me} has begun without this host: start all hosts at once, or raise --wait"
            ));
        }
        None
    }
}
