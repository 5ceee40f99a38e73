//! Bootstrap connections: the length of the first frame distinguishes a rank's check-in, the root's
//! reply, a ring, and a message between two ranks.

use super::ends::{Ends, Progress, Speaker};
use super::facts::{CheckIn, ControlFacts, RootReply};
use super::frames::Frames;
use super::peer_message::PeerMessage;
use super::pools::Pools;
use super::ring::RingConnection;
use crate::decode::nccl::check_in;
use crate::decode::nccl::layout::{LAYOUTS, ReleaseRange, narrow};
use crate::decode::nccl::root_reply::{REPLY_128, next_ring_listener};
use crate::model::time::Span;
use crate::model::witness::Witness;

/// A bootstrap connection.
#[derive(Clone, Debug)]
pub(super) struct Bootstrap {
    magic: u64,
    from_connector: Frames,
    from_listener: Frames,
    span: Span,
    purpose: Purpose,
}

/// What bytes are read with: who talks, the packet that brought them, and what is kept of others.
pub(super) struct Setting<'a> {
    pub(super) ends: &'a Ends,
    pub(super) witness: Witness,
    pub(super) pools: &'a mut Pools,
}

/// Purpose of a bootstrap connection.
#[derive(Clone, Debug)]
enum Purpose {
    Unknown,
    CheckIn(CheckIn),
    RootReply(RootReply),
    Ring(Box<RingConnection>),
    PeerMessage(PeerMessage),
}

impl Bootstrap {
    pub(super) fn new(magic: u64, span: Span) -> Self {
        let frames = Frames::default();
        let (from_connector, from_listener) = (frames.clone(), frames);
        Self { magic, from_connector, from_listener, span, purpose: Purpose::Unknown }
    }

    pub(super) fn bytes(
        &mut self,
        from: Speaker,
        bytes: &[u8],
        setting: &mut Setting<'_>,
    ) -> Progress {
        if from == Speaker::Connector {
            match self.frames(from, bytes, setting) {
                Progress::More => {}
                end => return end,
            }
        }
        match (from, &self.purpose) {
            // A ring's listener may be faster than its connector.
            (Speaker::Listener, Purpose::Unknown) => self.from_listener.hold(bytes),
            (Speaker::Listener, _) => self.frames(from, bytes, setting),
            (Speaker::Connector, _) => self.frames(Speaker::Listener, &[], setting),
        }
    }

    fn frames(&mut self, from: Speaker, bytes: &[u8], setting: &mut Setting<'_>) -> Progress {
        let Setting { ends, witness, pools } = setting;
        let witness = *witness;
        let Self { magic, from_connector, from_listener, span, purpose } = self;
        let frames = match from {
            Speaker::Connector => from_connector,
            Speaker::Listener => from_listener,
        };
        frames.push(bytes, |frame| {
            if matches!(purpose, Purpose::Unknown) {
                *purpose = Purpose::from_frame(frame, *magic, *span, ends, witness);
            }
            match purpose {
                Purpose::Ring(ring) => ring.frame(from, frame, witness, pools),
                Purpose::PeerMessage(message) if from == Speaker::Connector => {
                    message.frame(frame, *magic, ends, witness)
                }
                Purpose::CheckIn(_) | Purpose::RootReply(_) => Progress::Done,
                // Only on rings does the listener send.
                Purpose::PeerMessage(_) | Purpose::Unknown => Progress::Malformed,
            }
        })
    }

    /// Whether its purpose is known.
    pub(super) const fn is_clear(&self) -> bool {
        !matches!(self.purpose, Purpose::Unknown)
    }

    pub(super) fn end(&mut self, pools: &mut Pools) {
        (self.from_connector, self.from_listener) = (Frames::default(), Frames::default());
        if let Purpose::Ring(ring) = &mut self.purpose {
            ring.end(pools);
        }
    }

    pub(super) fn push_fact(&self, ends: &Ends, facts: &mut ControlFacts) {
        match &self.purpose {
            Purpose::Unknown => {}
            Purpose::CheckIn(check_in) => facts.check_ins.push(check_in.clone()),
            Purpose::RootReply(reply) => facts.root_replies.push(reply.clone()),
            Purpose::Ring(ring) => ring.push_fact(self.magic, ends, facts),
            Purpose::PeerMessage(message) => facts.setups.extend(message.setup().cloned()),
        }
    }

    /// Bytes of memory.
    pub(super) fn kept(&self) -> usize {
        let purpose = match &self.purpose {
            Purpose::Unknown | Purpose::CheckIn(_) | Purpose::RootReply(_) => 0,
            Purpose::Ring(ring) => size_of::<RingConnection>() + ring.kept(),
            Purpose::PeerMessage(message) => message.kept(),
        };
        self.from_connector.kept() + self.from_listener.kept() + purpose
    }
}

impl Purpose {
    fn from_frame(frame: &[u8], magic: u64, span: Span, ends: &Ends, witness: Witness) -> Self {
        if let Some(check_in) = read_check_in(frame, magic, ends, witness) {
            return Self::CheckIn(check_in);
        }
        if let Some(message) = PeerMessage::begins_with(frame.len()) {
            return Self::PeerMessage(message);
        }
        if frame.len() == REPLY_128 {
            return Self::RootReply(RootReply {
                magic: Some(magic),
                root: ends.connector.ip(),
                root_listener: ends.listener,
                next_ring_listener: next_ring_listener(frame),
                witness,
            });
        }
        let begins_with_address = next_ring_listener(frame.get(..28).unwrap_or(&[])).is_some();
        let ring = RingConnection::begins_with(frame.len(), span);
        match ring.filter(|_| begins_with_address) {
            Some(ring) => Self::Ring(Box::new(ring)),
            None => Self::Unknown,
        }
    }
}

fn read_check_in(frame: &[u8], magic: u64, ends: &Ends, witness: Witness) -> Option<CheckIn> {
    let layouts = narrow(&LAYOUTS, |layout| layout.check_in.len == frame.len());
    let said = check_in::CheckIn::decode(frame, layouts.first()?.check_in)?;
    Some(CheckIn {
        magic: Some(magic),
        root: ends.listener,
        address: ends.connector.ip(),
        rank: said.rank,
        nranks: said.nranks,
        root_index: said.root_index,
        root_count: said.root_count,
        root_listener: said.root_listener,
        ring_listener: said.ring_listener,
        releases: ReleaseRange::covering(layouts)?,
        witness,
    })
}
