//! Whether ranks forward what they receive unchanged, from the first bytes of messages: in an
//! AllGather (and in the second half of an AllReduce) a rank sends the chunk that it received one
//! send earlier, byte for byte; in a ReduceScatter it has added its own.

use super::lane::Lane;
use super::thresholds::{AGREEING_TENTHS, SAMPLED_CHUNKS};
use crate::model::nccl::Protocol;

/// What the payload of some messages shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarding {
    /// Chunks are forwarded unchanged.
    Forwarded,
    /// Each rank changes the chunks.
    Changed,
    /// Payload was not captured, or is the same everywhere.
    #[default]
    Unknown,
}

/// The next captured connection along the ring: its index among the lanes, and its sender's distance
/// in ranks.
pub type NextLane = Option<(usize, usize)>;

/// What the payload of one pass shows: `nranks` - 1 chunks on each lane, from `ahead` messages after
/// the cursors on.
#[must_use]
pub fn of_pass(
    lanes: &[(&Lane, usize)],
    next: &[NextLane],
    ahead: usize,
    nranks: usize,
    (protocol, per_chunk): (Protocol, usize),
) -> Forwarding {
    // LL puts flags that count messages between the data.
    if protocol == Protocol::Ll {
        return Forwarding::Unknown;
    }
    let mut tally = Tally::default();
    for ((lane, cursor), next) in lanes.iter().zip(next) {
        let Some((place, distance)) = *next else { continue };
        let Some((onward, onward_cursor)) = lanes.get(place) else { continue };
        for chunk in 0..(nranks - 1).saturating_sub(distance) {
            let inbound = head(lane, cursor + ahead + chunk * per_chunk);
            let outbound = head(onward, onward_cursor + ahead + (chunk + distance) * per_chunk);
            tally.compare(inbound, outbound);
        }
    }
    tally.verdict()
}

/// What the payload of `count` consecutive messages on all lanes shows.
#[must_use]
pub fn of_chain(lanes: &[(&Lane, usize)], count: usize, protocol: Protocol) -> Forwarding {
    let mut tally = Tally::default();
    if protocol != Protocol::Ll {
        for pair in lanes.windows(2) {
            for ahead in 0..count.min(SAMPLED_CHUNKS) {
                let [inbound, outbound] = [0, 1].map(|at| head(pair[at].0, pair[at].1 + ahead));
                tally.compare(inbound, outbound);
            }
        }
    }
    tally.verdict()
}

fn head(lane: &Lane, at: usize) -> Option<u64> {
    let message = lane.message(at)?;
    message.head.filter(|_| message.bytes != Some(0))
}

#[derive(Default)]
struct Tally {
    equal: u32,
    different: u32,
    sample: Option<u64>,
    is_varied: bool,
}

impl Tally {
    fn compare(&mut self, inbound: Option<u64>, outbound: Option<u64>) {
        let Some((inbound, outbound)) = inbound.zip(outbound) else { return };
        if inbound == outbound {
            self.equal += 1;
        } else {
            self.different += 1;
        }
        self.is_varied |= *self.sample.get_or_insert(inbound) != inbound;
    }

    fn verdict(&self) -> Forwarding {
        let all = self.equal + self.different;
        if self.different > 0 && self.different * 10 >= all * AGREEING_TENTHS {
            Forwarding::Changed
        } else if self.is_varied && self.equal * 10 >= all * AGREEING_TENTHS {
            Forwarding::Forwarded
        } else {
            Forwarding::Unknown
        }
    }
}
