//! The state of a ping on one host: who is there, and what came of whom.
//!
//! Every wait ends at a deadline. While one host is waited for, what others send is kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::TcpStream;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::clock::{left, now};
use super::link::{Event, Link, Way};
use super::matrix::Row;
use super::protocol::{Data, Member, Message, bounded};

/// Devices of a host, at most.
const MOST_DEVICES: usize = 16;

/// Rails of a cell, at most: all pairs of 16 devices.
const MOST_RAILS: usize = 256;

/// Another host.
#[derive(Default)]
pub(super) struct Peer {
    /// Its introduction.
    pub(super) member: Option<Member>,
    /// The connection that this host opened.
    pub(super) out: Option<Link>,
    /// The connection that it opened.
    pub(super) inward: Option<Link>,
    /// Why this host cannot connect to it, so far.
    pub(super) failure: Option<String>,
    /// Whether that is because its name has no address.
    pub(super) is_unresolved: bool,
    /// Why it or this host refuses the other one.
    pub(super) refusal: Option<String>,
    /// When something showed first that it runs.
    pub(super) sign: Option<Instant>,
    /// Why it can no longer be asked.
    pub(super) lost: Option<String>,
    /// Rounds in which it is ready.
    pub(super) ready: BTreeSet<usize>,
    /// Rows that it has.
    pub(super) have: Option<u64>,
    /// Whether it needs nothing more.
    pub(super) is_done: bool,
}

impl Peer {
    /// The connection that both sides use: that of the host with the lower index, if there is one.
    pub(super) fn link(&self, is_lower: bool) -> Option<(&Link, Way)> {
        let out = self.out.as_ref().map(|link| (link, Way::Out));
        let inward = self.inward.as_ref().map(|link| (link, Way::In));
        if is_lower { out.or(inward) } else { inward.or(out) }
    }
}

/// Connections for measurements that are kept until they are asked for.
const MOST_STREAMS: usize = 128;

/// A row on its way, with the number of cells that it has in the end.
struct Partial {
    row: Row,
    cells: usize,
}

/// This host's part.
pub(super) struct Session {
    pub(super) me: usize,
    pub(super) names: Vec<String>,
    pub(super) peers: Vec<Peer>,
    /// Rows by host.
    pub(super) rows: Vec<Option<Row>>,
    /// Hosts that some host is connected to: a bit per index.
    pub(super) seen: u64,
    events: Receiver<Event>,
    partial: BTreeMap<(usize, usize), Partial>,
    streams: VecDeque<(Data, TcpStream)>,
    /// Read, but for whoever asks next.
    unread: Option<(usize, Message)>,
    next_id: u32,
}

impl Session {
    pub(super) fn new(me: usize, names: Vec<String>, events: Receiver<Event>) -> Self {
        let peers = names.iter().map(|_| Peer::default()).collect();
        let rows = names.iter().map(|_| None).collect();
        Self {
            me,
            names,
            peers,
            rows,
            seen: bit(me),
            events,
            partial: BTreeMap::new(),
            streams: VecDeque::new(),
            unread: None,
            next_id: 0,
        }
    }

    /// All hosts but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.names.len()).filter(move |&host| host != me)
    }

    pub(super) fn name(&self, host: usize) -> &str {
        self.names.get(host).map_or("?", String::as_str)
    }

    /// A name for the next measurement.
    pub(super) const fn id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    /// The connection to a host, and which side opened it.
    ///
    /// # Errors
    /// There is none, with the reason.
    pub(super) fn link(&self, host: usize) -> Result<(&Link, Way), String> {
        let Some(peer) = self.peers.get(host) else { return Err("no such host".to_owned()) };
        if let Some(lost) = &peer.lost {
            return Err(lost.clone());
        }
        let link = peer.link(self.me < host);
        link.ok_or_else(|| {
            let why = peer.refusal.as_ref().or(peer.failure.as_ref());
            why.cloned().unwrap_or_else(|| "not connected".to_owned())
        })
    }

    /// Sends a message. Who takes nothing is lost.
    ///
    /// # Errors
    /// The connection is closed.
    pub(super) fn send(&mut self, host: usize, message: &Message) -> Result<(), String> {
        let sent = self.link(host)?.0.send(message);
        sent.map_err(|error| {
            let why = bounded(&format!("the connection to {} failed: {error}", self.name(host)));
            if let Some(peer) = self.peers.get_mut(host) {
                peer.lost = Some(why.clone());
            }
            why
        })
    }

    /// Hosts with a connection.
    pub(super) fn linked(&self) -> Vec<usize> {
        self.others().filter(|&host| self.link(host).is_ok()).collect()
    }

    /// Takes the next event, if one comes before `until`. Returns what only a partner sends.
    pub(super) fn poll(&mut self, until: Instant) -> Option<(usize, Message)> {
        if let Some(unread) = self.unread.take() {
            return Some(unread);
        }
        // The door holds the queue's other end for as long as this runs.
        let event = self.events.recv_timeout(left(until)).ok()?;
        self.handle(event)
    }

    /// A connection for a measurement, if it has come.
    pub(super) fn take_stream(&mut self, wanted: Data) -> Option<TcpStream> {
        let place = self.streams.iter().position(|(data, _)| *data == wanted)?;
        self.streams.remove(place).map(|(_, stream)| stream)
    }

    /// Gives a message back: the next poll returns it.
    pub(super) fn give_back(&mut self, host: usize, message: Message) {
        self.unread = Some((host, message));
    }

    /// The next message of a partner.
    ///
    /// # Errors
    /// It is gone, or sends nothing before the deadline.
    pub(super) fn next(&mut self, host: usize, deadline: Instant) -> Result<Message, String> {
        loop {
            // Messages of others belong to a pair that ended at its deadline.
            if let Some((_, message)) = self.poll(deadline).filter(|(from, _)| *from == host) {
                return Ok(message);
            }
            self.link(host)?;
            if now() >= deadline {
                return Err(format!("{} did not answer in time", self.name(host)));
            }
        }
    }

    /// A message of a partner that has come already.
    ///
    /// # Errors
    /// The partner is gone.
    pub(super) fn at_hand(&mut self, host: usize) -> Result<Option<Message>, String> {
        self.link(host)?;
        let found = self.poll(now());
        Ok(found.filter(|(from, _)| *from == host).map(|(_, message)| message))
    }

    /// Waits until a host is ready for a round.
    ///
    /// # Errors
    /// It is gone, or not ready before the deadline.
    pub(super) fn meet(
        &mut self,
        host: usize,
        round: usize,
        deadline: Instant,
    ) -> Result<(), String> {
        self.send(host, &Message::Ready(round))?;
        loop {
            let is_ready = self.peers.get(host).is_some_and(|peer| peer.ready.contains(&round));
            if is_ready {
                return Ok(());
            }
            self.link(host)?;
            if now() >= deadline {
                return Err(format!("{} was not ready in time", self.name(host)));
            }
            self.poll(deadline);
        }
    }

    /// Keeps what an event says; returns a message that only a partner sends.
    fn handle(&mut self, event: Event) -> Option<(usize, Message)> {
        match event {
            Event::Joined { host, way, link, member } => self.join(host, way, link, member),
            Event::Failed { host, why, is_unresolved } => {
                if let Some(peer) = self.peers.get_mut(host) {
                    peer.failure = Some(bounded(&why));
                    peer.is_unresolved = is_unresolved;
                }
            }
            Event::Refused { host, why } => {
                if let Some(peer) = self.peers.get_mut(host) {
                    peer.refusal = Some(bounded(&why));
                    peer.sign.get_or_insert_with(now);
                }
            }
            Event::Closed { host, way, why } => self.close(host, way, &why),
            Event::Data { data, stream } => {
                if self.streams.len() >= MOST_STREAMS {
                    self.streams.pop_front();
                }
                self.streams.push_back((data, stream));
            }
            Event::Heard { host, message } => return self.hear(host, message),
        }
        None
    }

    fn join(&mut self, host: usize, way: Way, link: Link, mut member: Member) {
        member.devices.truncate(MOST_DEVICES);
        let Some(peer) = self.peers.get_mut(host) else { return };
        peer.sign.get_or_insert_with(now);
        let place = match way {
            Way::Out => &mut peer.out,
            Way::In => &mut peer.inward,
        };
        // The first one stays: who comes later may be somebody else.
        if place.is_some() {
            return;
        }
        *place = Some(link);
        if way == Way::Out {
            peer.failure = None;
        }
        peer.member.get_or_insert(member);
        self.seen |= bit(host);
        let present = self.linked().into_iter().fold(bit(self.me), |all, host| all | bit(host));
        for other in self.linked() {
            // A failure shows when something is measured.
            _ = self.send(other, &Message::Present(present));
        }
    }

    fn close(&mut self, host: usize, way: Way, why: &str) {
        let is_lower = self.me < host;
        let name = self.name(host).to_owned();
        let Some(peer) = self.peers.get_mut(host) else { return };
        let is_used = peer.link(is_lower).is_some_and(|(_, used)| used == way);
        if is_used && !peer.is_done {
            peer.lost = Some(bounded(&format!("{name} ended the connection ({why})")));
        }
    }

    fn hear(&mut self, host: usize, message: Message) -> Option<(usize, Message)> {
        let peer = self.peers.get_mut(host)?;
        match message {
            Message::Present(hosts) => self.seen |= hosts,
            // More rounds than a tournament has are not kept.
            Message::Ready(round) if round < self.names.len() => {
                peer.ready.insert(round);
            }
            Message::Have(rows) => peer.have = Some(rows),
            Message::Bye => peer.is_done = true,
            Message::Row { host: of, devices, rdma_note, cells } => {
                if of < self.names.len()
                    && cells < self.names.len()
                    && devices.len() <= MOST_DEVICES
                {
                    let rdma_note = rdma_note.as_deref().map(bounded);
                    let row = Row { devices, rdma_note, cells: Vec::new() };
                    self.partial.insert((host, of), Partial { row, cells });
                    self.complete(host, of);
                }
            }
            Message::Cell { host: of, mut cell } => {
                let is_sound = cell.to < self.names.len() && cell.rails.len() <= MOST_RAILS;
                cell.connect = cell.connect.as_deref().map(bounded);
                if let Some(partial) = self.partial.get_mut(&(host, of)).filter(|_| is_sound) {
                    partial.row.cells.push(cell);
                    self.complete(host, of);
                }
            }
            message => return Some((host, message)),
        }
        None
    }

    /// Keeps a row of which all cells have come.
    fn complete(&mut self, from: usize, of: usize) {
        let key = (from, of);
        if self.partial.get(&key).is_none_or(|partial| partial.row.cells.len() < partial.cells) {
            return;
        }
        let Some(partial) = self.partial.remove(&key) else { return };
        if let Some(place) = self.rows.get_mut(of).filter(|place| place.is_none() && of != self.me)
        {
            *place = Some(partial.row);
        }
    }
}

/// The bit of a host in a set of hosts.
pub(super) const fn bit(host: usize) -> u64 {
    if host < 64 { 1 << host } else { 0 }
}
