//! What a flow answers: ACKs, NAKs and RNR NAKs that it carries for the other direction.

use crate::decode::roce::aeth::{NakCode, Syndrome};

/// Acknowledgements carried by one flow (REPORT `flows[].acks`, `naks`, `rnr_naks`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseCounts {
    /// AETHs that acknowledge: of ACKs, atomic ACKs and READ responses.
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

impl ResponseCounts {
    /// Counts an AETH's syndrome.
    pub fn add(&mut self, syndrome: Syndrome) {
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

    /// NAKs of all codes, without RNR NAKs.
    #[must_use]
    pub const fn naks(&self) -> u64 {
        self.psn_sequence_error
            + self.invalid_request
            + self.remote_access_error
            + self.remote_operational_error
            + self.invalid_rd_request
            + self.reserved
    }
}
