//! The receiving half of a reliable connection (IBTA volume 1, 9.7): accepts packets in order,
//! sends one NAK for a missing one, and acknowledges on request.

use std::sync::Arc;

use super::requester::{nearest, psn};
use crate::simulate::network::packet::{Body, Reth, Syndrome, Write};

/// What happened to a packet.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::simulate::network) enum Outcome {
    /// It was the expected packet.
    Accepted {
        /// The message that it completed.
        completed: Option<Completed>,
    },
    /// It had been accepted before.
    Duplicate,
    /// An earlier packet is missing.
    OutOfSequence,
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
}

impl Responder {
    /// Processes a packet; [`Self::owes`] says whether an answer is due.
    pub(in crate::simulate::network) fn take(&mut self, write: &Write) -> Outcome {
        let number = nearest(self.expected, write.psn);
        if number > self.expected && number - self.expected < 0x80_0000 {
            if !self.asked {
                self.asked = true;
                self.owes_nak = true;
            }
            return Outcome::OutOfSequence;
        }
        self.owes_ack |= write.ack_request;
        if number != self.expected {
            return Outcome::Duplicate;
        }
        self.expected += 1;
        self.asked = false;
        self.owes_ack |= self.owes_nak;
        self.owes_nak = false;
        if let Some(reth) = write.first {
            self.arriving = Some((reth, write.head.clone()));
        }
        let mut completed = None;
        if write.last {
            self.msn = (self.msn + 1) & 0xff_ffff;
            completed = self.arriving.take().map(|(reth, head)| Completed {
                reth,
                immediate: write.immediate,
                head,
            });
        }
        Outcome::Accepted { completed }
    }

    /// Whether an answer is due.
    pub(in crate::simulate::network) const fn owes(&self) -> bool {
        self.owes_ack || self.owes_nak
    }

    /// The answer, coalesced for everything since the last one.
    pub(in crate::simulate::network) fn answer(&mut self, destination_qpn: u32) -> Body {
        let (number, syndrome) = if self.owes_nak {
            (self.expected, Syndrome::NakSequence)
        } else {
            (self.expected.wrapping_sub(1), Syndrome::Ack)
        };
        self.owes_nak = false;
        self.owes_ack = false;
        Body::Acknowledge { destination_qpn, psn: psn(number), syndrome, msn: self.msn }
    }
}
