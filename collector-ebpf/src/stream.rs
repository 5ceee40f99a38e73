//! State of one direction of a TCP connection.

use bytemuck::{Pod, Zeroable};

use crate::table::Value;

/// The headers of one packet of each direction are delivered in this time, in nanoseconds, whatever else is: it
/// is less than the shortest timer of TCP (`TCP_RTO_MIN`, 200 ms), so that what is sent again after a timeout is
/// seen.
pub const PULSE_NS: u64 = 100_000_000;

/// Its state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct StreamState {
    /// Bytes of payload, including retransmitted ones.
    pub bytes: u64,
    /// When headers were delivered last because it was time, or a window closed or opened.
    pub told: u64,
    /// The kernel's tick of the last packet: the time is only asked for in another one.
    pub tick: u32,
    /// Not 0 if it had packets since another stream wanted its slot. A direction of acknowledgements alone that
    /// loses its slot gets none again: its windows are not seen.
    pub is_used: u16,
    /// Not 0 if its sender takes no data: its window is 0.
    pub is_closed: u16,
}

/// A packet of a stream. Its yes and no are 1 and 0: the verifier follows every branch, so numbers are
/// calculated with instead.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The kernel's tick: 1 to 10 ms, by its configuration.
    pub tick: u32,
    /// Bytes of payload.
    pub payload_len: u64,
    /// It begins the connection.
    pub is_syn: u64,
    /// Its sender takes no data.
    pub is_closed: u64,
}

impl StreamState {
    /// The state after its first packet that was seen, at this time in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub fn new(passage: &Passage, time: u64) -> Self {
        let Passage { tick, payload_len, is_closed, .. } = *passage;
        Self { bytes: payload_len, told: time, tick, is_used: 1, is_closed: is_closed as u16 }
    }

    /// Takes a packet; returns the bytes before it, and 1 if it has news: the window opens or closes, or
    /// there were no headers for a while. `now` is the time in nanoseconds.
    #[inline(always)]
    pub fn take(&mut self, passage: &Passage, now: impl FnOnce() -> u64) -> (u64, u64) {
        let Passage { tick, payload_len, is_syn, is_closed } = *passage;
        let time = if self.tick == tick { self.told } else { now() };
        let before = self.bytes & all_if(is_syn ^ 1);
        let changes = u64::from(self.is_closed) ^ is_closed;
        let is_new = changes | is_less(self.told + (PULSE_NS - 1), time);
        self.bytes = before + payload_len;
        self.told = (self.told & !all_if(is_new)) | (time & all_if(is_new));
        self.tick = tick;
        self.is_used = 1;
        self.is_closed = is_closed as u16;
        (before, is_new)
    }
}

/// 1 if `one` is less than `other`, else 0; without a branch. Both are less than 2^63.
#[inline(always)]
#[must_use]
pub fn is_less(one: u64, other: u64) -> u64 {
    // The compiler would see a comparison in it, and make a branch.
    core::hint::black_box(one.wrapping_sub(other)) >> 63
}

/// All bits if `one` is 1, and none if it is 0.
#[inline(always)]
#[must_use]
pub const fn all_if(one: u64) -> u64 {
    one.wrapping_neg()
}

impl Value for StreamState {
    /// Second chance: a stream is evicted at the second attempt, unless it was used in between.
    #[inline(always)]
    fn may_go(&mut self, _: u64) -> bool {
        core::mem::replace(&mut self.is_used, 0) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    /// What a packet without payload brings, in ticks of a millisecond.
    fn take(stream: &mut StreamState, milliseconds: u32, is_closed: u64) -> u64 {
        let passage = Passage { tick: milliseconds, payload_len: 0, is_syn: 0, is_closed };
        stream.take(&passage, || u64::from(milliseconds) * MILLISECOND).1
    }

    fn stream() -> StreamState {
        let passage = Passage { tick: 1000, payload_len: 10, is_syn: 0, is_closed: 0 };
        StreamState::new(&passage, 1000 * MILLISECOND)
    }

    #[test]
    fn headers_are_news_after_a_while() {
        let mut stream = stream();
        let news = [1099, 1100, 1150, 1301].map(|at| take(&mut stream, at, 0));
        assert_eq!(news, [0, 1, 0, 1]);
    }

    #[test]
    fn a_window_that_closes_or_opens_is_news() {
        let mut stream = stream();
        let news = [(1000, 1), (1000, 1), (1002, 1), (1002, 0), (1003, 0)]
            .map(|(at, is_closed)| take(&mut stream, at, is_closed));
        assert_eq!(news, [1, 0, 0, 1, 0]);
    }

    #[test]
    fn the_next_connection_counts_anew() {
        let mut stream = stream();
        let syn = Passage { tick: 1001, payload_len: 0, is_syn: 1, is_closed: 0 };
        let data = Passage { payload_len: 5, is_syn: 0, ..syn };
        let before = [syn, data, data].map(|one| stream.take(&one, || 1001 * MILLISECOND).0);
        assert_eq!(before, [0, 0, 5]);
    }
}
