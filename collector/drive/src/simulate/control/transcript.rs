//! Who sends what to whom over TCP, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::simulate::time::VirtualTime;

/// Latency between two processes, through both kernels and the fabric, ns.
pub(super) const LATENCY_NS: u64 = 15_000;

/// Time between two messages of the same side, ns.
const WORD_NS: u64 = 2_000;

/// First ephemeral port of a host.
const FIRST_PORT: u16 = 32_768;

/// The ports in use on hosts, across all jobs.
#[derive(Debug, Default)]
pub struct Ports(BTreeMap<IpAddr, u16>);

/// Everything that is sent.
#[derive(Debug)]
pub(super) struct Transcript<'a> {
    ports: &'a mut Ports,
    /// Hosts whose traffic is captured; other traffic is not kept.
    watched: BTreeSet<IpAddr>,
    pub conversations: Vec<Conversation>,
}

/// A connection, from open to close.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The connecting side.
    pub client: SocketAddr,
    /// The listening side.
    pub server: SocketAddr,
    /// When it opens.
    pub opens: VirtualTime,
    /// Messages, ordered by time in each direction.
    pub words: Vec<Word>,
    /// When the client closes it; `None`: it stays open.
    pub closes: Option<VirtualTime>,
    /// When the client and the server can send their next message.
    free: [VirtualTime; 2],
}

/// Bytes written at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Whether the client sends it.
    pub of_client: bool,
    /// When it is sent.
    pub at: VirtualTime,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Index of a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line(usize);

/// The two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Client,
    Server,
}

impl<'a> Transcript<'a> {
    pub(super) fn new(ports: &'a mut Ports, watched: BTreeSet<IpAddr>) -> Self {
        Self { ports, watched, conversations: Vec::new() }
    }

    /// A free port of a host.
    pub(super) fn port(&mut self, host: IpAddr) -> SocketAddr {
        let next = self.ports.0.entry(host).or_insert(FIRST_PORT);
        let port = *next;
        *next = if port == u16::MAX { FIRST_PORT } else { port + 1 };
        SocketAddr::new(host, port)
    }

    /// Connects from a port of `from`.
    pub(super) fn open(&mut self, from: IpAddr, to: SocketAddr, at: VirtualTime) -> Line {
        let client = self.port(from);
        self.open_from(client, to, at)
    }

    /// Connects from a given port.
    pub(super) fn open_from(
        &mut self,
        client: SocketAddr,
        to: SocketAddr,
        at: VirtualTime,
    ) -> Line {
        let free = [at.after(2 * LATENCY_NS), at.after(3 * LATENCY_NS)];
        let (words, closes) = (Vec::new(), None);
        self.conversations.push(Conversation {
            client,
            server: to,
            opens: at,
            words,
            closes,
            free,
        });
        Line(self.conversations.len() - 1)
    }

    /// Sends a message at `at` or later; returns when the other side has received it.
    pub(super) fn say(
        &mut self,
        line: Line,
        speaker: Speaker,
        at: VirtualTime,
        bytes: impl Into<Vec<u8>>,
    ) -> VirtualTime {
        let Some(conversation) = self.conversations.get_mut(line.0) else { return at };
        let free = &mut conversation.free[speaker as usize];
        let at = at.max(*free);
        *free = at.after(WORD_NS);
        let [client, server] = [conversation.client.ip(), conversation.server.ip()];
        let is_watched = self.watched.contains(&client) || self.watched.contains(&server);
        if client != server && is_watched {
            let of_client = speaker == Speaker::Client;
            conversation.words.push(Word { of_client, at, bytes: bytes.into() });
        }
        at.after(LATENCY_NS)
    }

    /// The client closes the connection after the last message.
    pub(super) fn close(&mut self, line: Line) {
        if let Some(conversation) = self.conversations.get_mut(line.0) {
            let [client, server] = conversation.free;
            conversation.closes = Some(client.max(server).after(2 * LATENCY_NS));
        }
    }
}
