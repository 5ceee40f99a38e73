//! TCP connection attempts and their outcome: answered, refused, or nothing.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::decode::packet::{TcpFlags, TcpSegment};
use crate::model::frame::Frame;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Most pairs of client and server; further ones are counted.
const CAPACITY: usize = 65_536;

/// One client's attempts at one server, over all connections and taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// SYNs, including retransmitted ones.
    pub asked: u64,
    /// SYNs answered with SYN and ACK.
    pub answered: u64,
    /// SYNs answered with RST.
    pub refused: u64,
    /// First and last SYN.
    pub span: Span,
    /// The first SYN; after a refusal, the first refusal.
    pub witness: Witness,
    is_open: bool,
}

/// Attempts by client and server.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    attempts: BTreeMap<(IpAddr, SocketAddr), Attempt>,
    dropped: u64,
}

impl Attempts {
    /// Processes a segment from `source` to `destination`.
    #[inline]
    pub fn observe(
        &mut self,
        frame: &Frame<'_>,
        source: IpAddr,
        destination: IpAddr,
        segment: &TcpSegment<'_>,
    ) {
        if segment.flags.has(TcpFlags::SYN) || segment.flags.has(TcpFlags::RST) {
            let client = SocketAddr::new(source, segment.ports.source);
            let server = SocketAddr::new(destination, segment.ports.destination);
            self.handshake(frame, client, server, segment.flags);
        }
    }

    fn handshake(&mut self, frame: &Frame<'_>, from: SocketAddr, to: SocketAddr, flags: TcpFlags) {
        let witness = Witness::Frame { tap: frame.tap, number: frame.number, time: frame.time };
        if flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK) {
            self.asked((from.ip(), to), frame.time, witness);
            return;
        }
        // An answer goes in the other direction.
        let Some(attempt) = self.attempts.get_mut(&(to.ip(), from)) else { return };
        if flags.has(TcpFlags::RST) {
            if attempt.is_open {
                if attempt.refused == 0 {
                    attempt.witness = witness;
                }
                attempt.refused += 1;
                attempt.is_open = false;
            }
        } else {
            attempt.answered += 1;
            attempt.is_open = false;
        }
    }

    fn asked(&mut self, key: (IpAddr, SocketAddr), time: Timestamp, witness: Witness) {
        if self.attempts.len() >= CAPACITY && !self.attempts.contains_key(&key) {
            self.dropped += 1;
            return;
        }
        let attempt = self.attempts.entry(key).or_insert(Attempt {
            asked: 0,
            answered: 0,
            refused: 0,
            span: Span { first: time, last: time },
            witness,
            is_open: false,
        });
        attempt.asked += 1;
        attempt.is_open = true;
        attempt.span.last = attempt.span.last.max(time);
    }

    /// Drops those whose last SYN passed before `bound`, but for those without an answer since `silent`, and
    /// those at a server that `is_needed`: once it has answered, a refusal means that it is gone, or that its
    /// job has ended.
    pub fn forget(
        &mut self,
        bound: Timestamp,
        silent: Timestamp,
        is_needed: impl Fn(&SocketAddr) -> bool,
    ) {
        self.attempts.retain(|(_, server), attempt| {
            let since = if attempt.answered > 0 && !is_needed(server) { bound } else { silent };
            attempt.span.last >= since
        });
    }

    /// The attempts by client and server.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, SocketAddr, &Attempt)> {
        self.attempts.iter().map(|((client, server), attempt)| (*client, *server, attempt))
    }

    /// SYNs of pairs that did not fit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}
