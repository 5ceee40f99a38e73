//! Conversations as TCP segments: handshake, data with acknowledgements, close.
//!
//! RFC 9293, without loss and with windows that never fill.

use std::net::SocketAddr;

use super::transcript::{Conversation, LATENCY_NS, Word};
use crate::simulate::time::VirtualTime;

/// Largest payload of a segment: Ethernet's 1500 bytes minus the headers of IPv4 and TCP.
const SEGMENT_BYTES: usize = 1460;

/// Time between two segments of a message, ns.
const SEGMENT_NS: u64 = 1_300;

/// Delay of a receiver's acknowledgement, ns.
const ACK_NS: u64 = 25_000;

/// Flags of the TCP header.
pub const FIN: u8 = 0x01;
/// See [`FIN`].
pub const SYN: u8 = 0x02;
/// See [`FIN`].
pub const PSH: u8 = 0x08;
/// See [`FIN`].
pub const ACK: u8 = 0x10;

/// A segment, as it leaves its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Time of departure.
    pub leaves: VirtualTime,
    /// Time of arrival.
    pub comes: VirtualTime,
    /// Sender.
    pub from: SocketAddr,
    /// Receiver.
    pub to: SocketAddr,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number; 0 in the first.
    pub acknowledgement: u32,
    /// TCP flags: [`FIN`] and the like.
    pub flags: u8,
    /// Its data; empty for SYN, FIN and pure ACKs.
    pub payload: Vec<u8>,
}

/// A segment whose acknowledgement number is not known yet.
struct Sending<'a> {
    at: VirtualTime,
    of_client: bool,
    flags: u8,
    payload: &'a [u8],
}

/// The segments of a conversation in order of departure.
#[must_use]
pub fn segments(conversation: &Conversation) -> Vec<Segment> {
    let mut sendings = handshake(conversation.opens);
    for word in &conversation.words {
        sendings.extend(cut(word));
    }
    if let Some(closes) = conversation.closes {
        sendings.extend(farewell(closes));
    }
    sendings.sort_by_key(|sending| sending.at);
    number(conversation, &sendings)
}

fn bare<'a>(at: VirtualTime, of_client: bool, flags: u8) -> Sending<'a> {
    Sending { at, of_client, flags, payload: &[] }
}

fn handshake<'a>(opens: VirtualTime) -> Vec<Sending<'a>> {
    vec![
        bare(opens, true, SYN),
        bare(opens.after(LATENCY_NS), false, SYN | ACK),
        bare(opens.after(2 * LATENCY_NS), true, ACK),
    ]
}

/// A message as segments, with the acknowledgement of the last one.
fn cut(word: &Word) -> Vec<Sending<'_>> {
    let last = word.bytes.len().div_ceil(SEGMENT_BYTES).saturating_sub(1);
    let mut sendings = Vec::new();
    for (place, payload) in word.bytes.chunks(SEGMENT_BYTES).enumerate() {
        let at = word.at.after(1 + place as u64 * SEGMENT_NS);
        let flags = if place == last { ACK | PSH } else { ACK };
        sendings.push(Sending { at, of_client: word.of_client, flags, payload });
    }
    let heard = word.at.after(1 + last as u64 * SEGMENT_NS + LATENCY_NS + ACK_NS);
    sendings.push(bare(heard, !word.of_client, ACK));
    sendings
}

fn farewell<'a>(closes: VirtualTime) -> [Sending<'a>; 3] {
    // After every acknowledgement still in flight.
    let closes = closes.after(2 * (LATENCY_NS + ACK_NS));
    [
        bare(closes, true, FIN | ACK),
        bare(closes.after(LATENCY_NS + ACK_NS), false, FIN | ACK),
        bare(closes.after(2 * (LATENCY_NS + ACK_NS)), true, ACK),
    ]
}

/// Assigns numbers: each side acknowledges what has arrived by then.
fn number(conversation: &Conversation, sendings: &[Sending<'_>]) -> Vec<Segment> {
    let ends = [conversation.client, conversation.server];
    // The next sequence number of each side over time.
    let mut sent: [Vec<(VirtualTime, u32)>; 2] = ends.map(|end| {
        let other = if end == ends[0] { ends[1] } else { ends[0] };
        vec![(VirtualTime::START, first_sequence(end, other))]
    });
    let mut heard = [0; 2];
    let mut acknowledged = [None; 2];
    let mut segments = Vec::new();
    for sending in sendings {
        let (own, other) = if sending.of_client { (0, 1) } else { (1, 0) };
        let sequence = sent[own].last().map_or(0, |(_, next)| *next);
        let come = |(at, _): &(VirtualTime, u32)| at.after(LATENCY_NS) <= sending.at;
        while sent[other].get(heard[own] + 1).is_some_and(come) {
            heard[own] += 1;
        }
        let acknowledgement = sent[other].get(heard[own]).map_or(0, |(_, next)| *next);
        let taken = sending.payload.len() as u32 + u32::from(sending.flags & (SYN | FIN) != 0);
        let said = acknowledged[own].replace(acknowledgement);
        if taken == 0 && said == Some(acknowledgement) {
            continue;
        }
        if taken > 0 {
            sent[own].push((sending.at, sequence.wrapping_add(taken)));
        }
        segments.push(Segment {
            leaves: sending.at,
            comes: sending.at.after(LATENCY_NS),
            from: ends[own],
            to: ends[other],
            sequence,
            acknowledgement: if sending.flags & ACK == 0 { 0 } else { acknowledgement },
            flags: sending.flags,
            payload: sending.payload.to_vec(),
        });
    }
    segments
}

/// An initial sequence number that differs between connections.
fn first_sequence(from: SocketAddr, to: SocketAddr) -> u32 {
    let ports = u32::from(from.port()) << 16 | u32::from(to.port());
    ports.wrapping_mul(0x9e37_79b1).rotate_left(7)
}

#[cfg(test)]
mod tests {
    use super::super::transcript::{Ports, Speaker, Transcript};
    use super::*;

    #[test]
    fn numbers_follow_each_other_and_nothing_unheard_is_acknowledged() {
        let mut ports = Ports::default();
        let watched = ["10.0.0.2".parse().unwrap()].into();
        let mut transcript = Transcript::new(&mut ports, watched);
        let server = "10.0.0.1:29500".parse().unwrap();
        let line = transcript.open("10.0.0.2".parse().unwrap(), server, VirtualTime(5));
        let heard = transcript.say(line, Speaker::Client, VirtualTime(5), vec![1; 4000]);
        transcript.say(line, Speaker::Server, heard, vec![2; 3]);
        transcript.close(line);
        let segments = segments(&transcript.conversations[0]);
        let mut next = std::collections::BTreeMap::new();
        for segment in &segments {
            let expected = *next.entry(segment.from).or_insert(segment.sequence);
            assert_eq!(segment.sequence, expected);
            let taken = segment.payload.len() as u32 + u32::from(segment.flags & (SYN | FIN) != 0);
            next.insert(segment.from, expected.wrapping_add(taken));
            if segment.flags & ACK != 0 {
                let come = segments
                    .iter()
                    .filter(|other| other.from == segment.to && other.comes <= segment.leaves);
                let end = |other: &Segment| {
                    let taken = u32::from(other.flags & (SYN | FIN) != 0);
                    other.sequence.wrapping_add(other.payload.len() as u32 + taken)
                };
                assert_eq!(
                    come.max_by_key(|other| other.leaves).map(end),
                    Some(segment.acknowledgement)
                );
            }
        }
        let flags: Vec<_> = segments.iter().map(|segment| segment.flags).collect();
        assert_eq!(flags[..3], [SYN, SYN | ACK, ACK]);
        assert_eq!(flags[flags.len() - 3..], [FIN | ACK, FIN | ACK, ACK]);
        let said: usize = segments.iter().map(|segment| segment.payload.len()).sum();
        assert_eq!(said, 4003);
    }
}
