//! The receiving half of a reliable connection (IBTA volume 1, 9.7): accepts packets in order,
//! sends one NAK for a missing one, and acknowledges on request. A NIC that places packets out of
//! order takes early ones, too, and asks for a missing one only after a while.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::requester::{nearest, psn};
use crate::simulate::network::packet::{Body, Reth, Syndrome, Write};
use crate::simulate::network::picoseconds::Picoseconds;

/// What happened to a packet.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::simulate::network) enum Outcome {
    /// It was the expected packet, or may come early.
    Accepted {
        /// The messages that it completed.
        completed: Vec<Completed>,
    },
    /// It had been accepted before.
    Duplicate,
    /// An earlier packet is missing.
    OutOfSequence,
    /// It needs a receive, and none is posted.
    NotReady,
}

/// A complete message.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::simulate::network) struct Completed {
    pub(in crate::simulate::network) reth: Reth,
    pub(in crate::simulate::network) immediate: Option<u32>,
    pub(in crate::simulate::network) head: Option<Arc<[u8]>>,
}

/// The receiving half of a queue pair.
#[derive(Debug, Default)]
pub(in crate::simulate::network) struct Responder {
    /// Number of the next packet.
    expected: u64,
    /// Completed messages, 24 bits.
    msn: u32,
    /// The message that is arriving.
    arriving: Option<(Reth, Option<Arc<[u8]>>)>,
    /// A NAK for `expected` is outstanding.
    asked: bool,
    /// That NAK has not been sent yet.
    owes_nak: bool,
    /// An ACK was requested.
    owes_ack: bool,
    /// No receive is posted.
    is_unready: bool,
    /// A packet was refused for that, and the NAK has not been sent yet.
    owes_not_ready: bool,
    /// Packets after `expected` that were placed, by number.
    early: BTreeMap<u64, Write>,
    /// Since when `expected` has been missing before packets in `early`.
    stuck_since: Option<Picoseconds>,
}

impl Responder {
    /// Processes a packet; [`Self::owes`] says whether an answer is due. `in_order` refuses what
    /// comes early.
    pub(in crate::simulate::network) fn take(
        &mut self,
        write: &Write,
        in_order: bool,
        now: Picoseconds,
    ) -> Outcome {
        let number = nearest(self.expected, write.psn);
        if number > self.expected && number - self.expected < 0x80_0000 {
            if !in_order {
                self.stuck_since = self.stuck_since.or(Some(now));
                let known = self.early.insert(number, write.clone());
                return match known {
                    Some(_) => Outcome::Duplicate,
                    None => Outcome::Accepted { completed: Vec::new() },
                };
            }
            if !self.asked {
                self.asked = true;
                self.owes_nak = true;
            }
            return Outcome::OutOfSequence;
        }
        if number != self.expected {
            self.owes_ack |= write.ack_request;
            return Outcome::Duplicate;
        }
        if self.is_unready && write.immediate.is_some() {
            self.owes_not_ready = true;
            return Outcome::NotReady;
        }
        let mut completed: Vec<Completed> = self.accept(write).into_iter().collect();
        self.stuck_since = None;
        while let Some(next) = self.early.remove(&self.expected) {
            completed.extend(self.accept(&next));
        }
        if !self.early.is_empty() {
            self.stuck_since = Some(now);
        }
        Outcome::Accepted { completed }
    }

    /// Accepts the expected packet; returns the message that it completes.
    fn accept(&mut self, write: &Write) -> Option<Completed> {
        self.owes_ack |= write.ack_request;
        self.expected += 1;
        self.asked = false;
        self.owes_ack |= self.owes_nak;
        self.owes_nak = false;
        if let Some(reth) = write.first {
            self.arriving = Some((reth, write.head.clone()));
        }
        if !write.last {
            return None;
        }
        self.msn = (self.msn + 1) & 0xff_ffff;
        let (reth, head) = self.arriving.take()?;
        Some(Completed { reth, immediate: write.immediate, head })
    }

    /// Since when a packet has been missing before others.
    pub(in crate::simulate::network) const fn stuck_since(&self) -> Option<Picoseconds> {
        self.stuck_since
    }

    /// Asks for the missing packet, and begins to wait again.
    pub(in crate::simulate::network) const fn ask_for_missing(&mut self, now: Picoseconds) {
        self.owes_nak = true;
        self.stuck_since = Some(now);
    }

    /// No receive is posted any more.
    pub(in crate::simulate::network) const fn take_receives(&mut self) {
        self.is_unready = true;
    }

    /// Whether an answer is due.
    pub(in crate::simulate::network) const fn owes(&self) -> bool {
        self.owes_ack || self.owes_nak || self.owes_not_ready
    }

    /// The answer, coalesced for everything since the last one.
    pub(in crate::simulate::network) fn answer(&mut self, destination_qpn: u32) -> Body {
        let (number, syndrome) = if self.owes_not_ready {
            (self.expected, Syndrome::NotReady)
        } else if self.owes_nak {
            (self.expected, Syndrome::NakSequence)
        } else {
            (self.expected.wrapping_sub(1), Syndrome::Ack)
        };
        self.owes_not_ready = false;
        self.owes_nak = false;
        self.owes_ack = false;
        Body::Acknowledge { destination_qpn, psn: psn(number), syndrome, msn: self.msn }
    }
}
