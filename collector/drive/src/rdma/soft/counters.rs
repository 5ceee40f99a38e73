//! What an adapter has sent, received, dropped and done again: for the truth, and for tests.

/// Counts since the adapter was opened. Bytes are those of UDP payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets given to the network, those that a fault dropped included.
    pub packets_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Packets that came; each is in exactly one of the eight counts behind `bytes_received`.
    pub packets_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Parts of writes taken in order.
    pub writes_accepted: u64,
    /// ACKs and NAKs that a requester took.
    pub answers_accepted: u64,
    /// CNPs that slowed a queue pair.
    pub cnps_received: u64,
    /// Parts of writes that had come before.
    pub duplicates: u64,
    /// Parts of writes behind a gap, or refused.
    pub refused: u64,
    /// Answers to nothing that is outstanding.
    pub stale_answers: u64,
    /// ICRC wrong, or too short to have one.
    pub icrc_errors: u64,
    /// ICRC right, but not a packet for a connected queue pair of this adapter.
    pub undeliverable: u64,
    /// Datagrams that came while the socket's buffer was full, and are lost: not counted above.
    pub overflowed: u64,
    /// Packets that the kernel had no room for when they were sent: lost, though counted as sent.
    pub unsent: u64,
    /// Request packets sent again.
    pub retransmitted: u64,
    /// Times that nothing was answered in time.
    pub timeouts: u64,
    /// NAKs for a gap sent.
    pub sequence_naks_sent: u64,
    /// NAKs for a gap received.
    pub sequence_naks_received: u64,
    /// RNR NAKs sent.
    pub rnr_naks_sent: u64,
    /// Packets received with CE.
    pub ce_received: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
}
