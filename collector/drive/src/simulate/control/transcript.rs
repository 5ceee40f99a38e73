//! Who says what to whom on TCP, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::simulate::time::VirtualTime;

/// From one process to another, through both kernels and the fabric, ns.
pub(super) const LATENCY_NS: u64 = 15_000;

/// From one word to the next of the same side, ns.
const WORD_NS: u64 = 2_000;

/// The first port that a host gives to who asks for none.
const FIRST_PORT: u16 = 32_768;

/// The ports that hosts have given away, over all jobs.
#[derive(Debug, Default)]
pub struct Ports(BTreeMap<IpAddr, u16>);

/// All that is said.
#[derive(Debug)]
pub(super) struct Transcript<'a> {
    ports: &'a mut Ports,
    /// Hosts whose words are captured; the others' are not kept.
    watched: BTreeSet<IpAddr>,
    pub conversations: Vec<Conversation>,
}

/// A connection, from its opening to its end.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Who connects.
    pub client: SocketAddr,
    /// To whom.
    pub server: SocketAddr,
    /// When.
    pub opens: VirtualTime,
    /// In order of time for each direction.
    pub words: Vec<Word>,
    /// When the client closes it; `None`: it stays open.
    pub closes: Option<VirtualTime>,
    /// When the client, the server can say the next word.
    free: [VirtualTime; 2],
}

/// Bytes that were written at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Whether the client says it.
    pub of_client: bool,
    /// When.
    pub at: VirtualTime,
    /// What.
    pub bytes: Vec<u8>,
}

/// A conversation: its place among all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line(usize);

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Client,
    Server,
}

impl<'a> Transcript<'a> {
    pub(super) fn new(ports: &'a mut Ports, watched: BTreeSet<IpAddr>) -> Self {
        Self { ports, watched, conversations: Vec::new() }
    }

    /// A port of a host that is free.
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

    /// Connects from a port.
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

    /// Says something, not before `at`; returns when the other has heard it.
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

    /// Closes it once all is said, as the client.
    pub(super) fn close(&mut self, line: Line) {
        if let Some(conversation) = self.conversations.get_mut(line.0) {
            let [client, server] = conversation.free;
            conversation.closes = Some(client.max(server).after(2 * LATENCY_NS));
        }
    }
}
