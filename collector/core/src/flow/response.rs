//! The response space of one flow: ACKs, NAKs, READ responses and atomic ACKs for the other
//! direction, and gaps among READ responses.

use serde::{Deserialize, Serialize};

use super::identification::Identifications;
use crate::decode::roce::aeth::{NakCode, Syndrome};
use crate::model::opcode::Operation;
use crate::model::psn::Psn;
use crate::model::run::Run;

/// A READ response this far ahead of the previous one belongs to something else.
const RESPONSE_GAP: i32 = 1 << 16;

/// State of one flow's response space.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ResponseSpace {
    acks: u64,
    /// Created with the first NAK.
    naks: Option<Box<ResponseCounts>>,
    psns: Option<ResponsePsns>,
    identifications: Identifications,
    /// PSN of the next READ response; `None` between messages.
    next_of_read: Option<Psn>,
    gap_packets: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ResponsePsns {
    first: Psn,
    last: Psn,
    high: Psn,
}

/// Acknowledgements carried by one flow (REPORT `flows[].acks`, `naks`, `rnr_naks`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseCounts {
    /// Positive AETHs: of ACKs, atomic ACKs and READ responses.
    pub acks: u64,
    /// NAKs for a missing packet.
    pub psn_sequence_error: u64,
    /// NAKs for an invalid request.
    pub invalid_request: u64,
    /// NAKs for a bad R_Key, address or permission.
    pub remote_access_error: u64,
    /// NAKs for a failure at the responder.
    pub remote_operational_error: u64,
    /// NAKs for an invalid RD request.
    pub invalid_rd_request: u64,
    /// NAKs and syndromes that no specification defines.
    pub reserved: u64,
    /// Receiver-not-ready NAKs.
    pub rnr_naks: u64,
}

impl ResponseSpace {
    /// Processes the next response packet of the flow.
    pub fn observe(
        &mut self,
        operation: Option<Operation>,
        psn: Psn,
        syndrome: Option<Syndrome>,
        identification: Option<u16>,
    ) {
        match &mut self.psns {
            Some(psns) => {
                psns.last = psn;
                if psn.is_after(psns.high) {
                    psns.high = psn;
                    self.identifications.advance(identification);
                }
            }
            None => {
                self.psns = Some(ResponsePsns { first: psn, last: psn, high: psn });
                self.identifications.start(identification);
            }
        }
        match syndrome {
            Some(Syndrome::Ack { .. }) => self.acks += 1,
            Some(other) => self.naks.get_or_insert_default().add(other),
            None => {}
        }
        self.observe_read(operation, psn);
    }

    /// Processes ACKs counted in the kernel, each ahead of the previous one.
    pub fn observe_run(&mut self, run: &Run) {
        let Run { first_psn: first, last_psn: last, .. } = *run;
        let psns = self.psns.get_or_insert(ResponsePsns { first, last, high: last });
        psns.last = last;
        if last.is_after(psns.high) {
            psns.high = last;
        }
        self.acks += u64::from(run.frames);
    }

    /// READ responses of one message have consecutive PSNs.
    fn observe_read(&mut self, operation: Option<Operation>, psn: Psn) {
        use Operation as O;
        let ahead = self.next_of_read.map_or(0, |next| psn.distance_from(next));
        let is_ahead = (1..RESPONSE_GAP).contains(&ahead);
        match operation {
            Some(O::RdmaReadResponseFirst | O::RdmaReadResponseOnly) => {
                // At least the last packet of the previous message is missing.
                self.gap_packets += u64::from(is_ahead);
            }
            Some(O::RdmaReadResponseMiddle | O::RdmaReadResponseLast) if is_ahead => {
                self.gap_packets += ahead as u64;
            }
            Some(O::RdmaReadResponseMiddle | O::RdmaReadResponseLast) => {}
            _ => return,
        }
        let goes_on =
            matches!(operation, Some(O::RdmaReadResponseFirst | O::RdmaReadResponseMiddle));
        self.next_of_read = goes_on.then(|| psn.plus(1));
    }

    /// Acknowledgements carried.
    #[must_use]
    pub fn counts(&self) -> ResponseCounts {
        ResponseCounts { acks: self.acks, ..self.naks.as_deref().copied().unwrap_or_default() }
    }

    /// PSN of the first and last response packet; `None` without any.
    #[must_use]
    pub fn psns(&self) -> Option<(Psn, Psn)> {
        self.psns.map(|psns| (psns.first, psns.last))
    }

    /// READ response packets skipped when first seen: a lower bound of their loss before the tap.
    #[must_use]
    pub const fn gap_packets(&self) -> u64 {
        self.gap_packets
    }

    /// Its IPv4 identifications.
    #[must_use]
    pub const fn identifications(&self) -> &Identifications {
        &self.identifications
    }
}

impl ResponseCounts {
    /// The higher of each: what two taps saw of the same.
    #[must_use]
    pub fn highest(self, other: Self) -> Self {
        Self {
            acks: self.acks.max(other.acks),
            psn_sequence_error: self.psn_sequence_error.max(other.psn_sequence_error),
            invalid_request: self.invalid_request.max(other.invalid_request),
            remote_access_error: self.remote_access_error.max(other.remote_access_error),
            remote_operational_error: self
                .remote_operational_error
                .max(other.remote_operational_error),
            invalid_rd_request: self.invalid_rd_request.max(other.invalid_rd_request),
            reserved: self.reserved.max(other.reserved),
            rnr_naks: self.rnr_naks.max(other.rnr_naks),
        }
    }

    /// NAKs that end a connection, each with its reason.
    #[must_use]
    pub const fn refusals(&self) -> [(u64, &'static str); 5] {
        [
            (self.remote_access_error, "remote_access_error"),
            (self.invalid_request, "invalid_request"),
            (self.remote_operational_error, "remote_operational_error"),
            (self.invalid_rd_request, "invalid_rd_request"),
            (self.reserved, "reserved_syndrome"),
        ]
    }

    /// Counts an AETH's syndrome.
    fn add(&mut self, syndrome: Syndrome) {
        let counter = match syndrome {
            Syndrome::Ack { .. } => &mut self.acks,
            Syndrome::RnrNak { .. } => &mut self.rnr_naks,
            Syndrome::Nak(NakCode::PsnSequenceError) => &mut self.psn_sequence_error,
            Syndrome::Nak(NakCode::InvalidRequest) => &mut self.invalid_request,
            Syndrome::Nak(NakCode::RemoteAccessError) => &mut self.remote_access_error,
            Syndrome::Nak(NakCode::RemoteOperationalError) => &mut self.remote_operational_error,
            Syndrome::Nak(NakCode::InvalidRdRequest) => &mut self.invalid_rd_request,
            Syndrome::Nak(NakCode::Reserved(_)) | Syndrome::Reserved(_) => &mut self.reserved,
        };
        *counter += 1;
    }
}
