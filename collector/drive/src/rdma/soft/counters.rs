//! What an adapter sent, received, dropped and retransmitted: for the truth, and for tests.

/// Counters since the adapter was opened. Bytes are UDP payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets given to the network, including those that a fault dropped.
    pub packets_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Received packets; each is in exactly one of the eight counters after `bytes_received`.
    pub packets_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Parts of writes accepted in order.
    pub writes_accepted: u64,
    /// ACKs and NAKs accepted by a requester.
    pub answers_accepted: u64,
    /// CNPs that slowed a queue pair.
    pub cnps_received: u64,
    /// Duplicate parts of writes.
    pub duplicates: u64,
    /// Parts of writes after a gap, or refused.
    pub refused: u64,
    /// Answers to nothing outstanding.
    pub stale_answers: u64,
    /// Packets with a wrong ICRC, or too short for one.
    pub icrc_errors: u64,
    /// Packets with a correct ICRC that are not for a connected queue pair of this adapter.
    pub undeliverable: u64,
    /// Datagrams lost because the socket's buffer was full; not counted above.
    pub overflowed: u64,
    /// Packets lost because the kernel had no buffer for them; counted as sent.
    pub unsent: u64,
    /// Retransmitted request packets.
    pub retransmitted: u64,
    /// Timeouts without an answer.
    pub timeouts: u64,
    /// NAKs sent for missing packets.
    pub sequence_naks_sent: u64,
    /// NAKs received for missing packets.
    pub sequence_naks_received: u64,
    /// NAKs sent because no receive was posted.
    pub rnr_naks_sent: u64,
    /// CE-marked packets received.
    pub ce_received: u64,
    /// CNPs sent because CE-marked packets arrived.
    pub cnps_sent: u64,
}
