//! One way to read what follows on a channel: an operation, where it ends, and how well that fits.

use super::lane::Lane;
use super::thresholds::{
    ACROSS_FENCE, CHANCE, CLEAN_EIGHTHS, DENIED_EIGHTHS, HIDDEN, UNCONFIRMED, UNFENCED, UNPROVEN,
};
use crate::model::nccl::CollectiveKind;
use crate::model::time::Timestamp;

/// How the messages of a channel are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All connections of the ring alike, in loops of passes.
    Ring,
    /// From rank to rank along the ring, but not all the way.
    Chain,
    /// Up and down a tree.
    Tree,
    /// The capture ends, or messages are missing.
    Cut,
}

/// One reading of one channel.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its shape: ring, chain, tree.
    pub pattern: Pattern,
    /// What the collective computes.
    pub kind: CollectiveKind,
    /// Loops of a ring collective; chunks of others.
    pub loops: u32,
    /// Bytes of the channel's part, as in [`ring_chunks`](super::plan::ring_chunks); `None` if
    /// they were not seen.
    pub share: Option<u64>,
    /// Lanes and how many of their messages it takes.
    pub lanes: Vec<(usize, usize)>,
    /// How badly it fits, without the cost of every collective.
    pub cost: u32,
    /// Last data packet.
    pub end: Option<Timestamp>,
    /// Payload shows that data is forwarded as in this kind.
    pub is_witnessed: bool,
}

/// How many places allow a boundary by their CTS, of those where the CTS was captured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fences {
    fenced: u32,
    known: u32,
}

impl Fences {
    /// Whether `lanes` allow a boundary `ahead` messages after their cursors.
    #[must_use]
    pub fn at(lanes: &[(&Lane, usize)], ahead: usize) -> Self {
        let mut fences = Self::default();
        for (lane, cursor) in lanes {
            fences.add_message(lane, cursor + ahead);
        }
        fences
    }

    /// Adds the boundary before message `at` of a lane.
    pub fn add_message(&mut self, lane: &Lane, at: usize) {
        self.add_known(lane.fence_at(at));
    }

    /// Adds whether a lane allows a boundary, where that is known.
    pub fn add_known(&mut self, is_fenced: Option<bool>) {
        self.known += u32::from(is_fenced.is_some());
        self.fenced += u32::from(is_fenced == Some(true));
    }

    /// The growth since `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            fenced: self.fenced.saturating_sub(before.fenced),
            known: self.known.saturating_sub(before.known),
        }
    }

    /// Adds the counts of another place.
    pub fn add(&mut self, other: Self) {
        self.fenced += other.fenced;
        self.known += other.known;
    }

    /// Thousandths of lanes that allow a boundary; `None` if none is known.
    #[must_use]
    pub fn share(self) -> Option<u32> {
        (self.fenced * 1000).checked_div(self.known)
    }

    /// Cost of an operation that ends here.
    #[must_use]
    pub fn cost_of_end(self) -> u32 {
        self.share().map_or(UNCONFIRMED, |share| {
            let against = 1000 - share;
            UNFENCED * against / 1000
        })
    }

    /// Cost of an end whose proof is weak. `inside` are the places within the operation: the more of
    /// them look like an end by chance, the less this one proves.
    #[must_use]
    pub fn cost_of_doubt(self, inside: Self) -> u32 {
        let chance = if self.is_clean() { inside.share().unwrap_or(CHANCE) } else { CHANCE };
        UNPROVEN * chance.min(CHANCE) / CHANCE
    }

    /// Cost of the ends that an operation on `lanes` would hide although its beginning was not
    /// captured. `self` are the places within it. An end is one place on each lane, but not at the
    /// same message number: the capture of each connection starts at another message.
    #[must_use]
    pub fn cost_of_hiding(self, lanes: usize) -> u32 {
        let ends = self.fenced.checked_div(u32::try_from(lanes).unwrap_or(u32::MAX));
        ends.unwrap_or(0).saturating_mul(HIDDEN)
    }

    /// Cost of an operation that continues across this place; `usual` are the places that allow a
    /// boundary by chance.
    #[must_use]
    pub fn cost_of_crossing(self, usual: Self) -> u32 {
        let here = self.share().unwrap_or(0);
        ACROSS_FENCE * here.saturating_sub(usual.share().unwrap_or(0)) / 1000
    }

    /// Nearly all lanes allow a boundary.
    #[must_use]
    pub fn is_clean(self) -> bool {
        self.known > 0 && self.fenced * 8 > self.known * CLEAN_EIGHTHS
    }

    /// Most lanes deny a boundary.
    #[must_use]
    pub fn denies(self) -> bool {
        self.fenced * 8 < self.known * DENIED_EIGHTHS
    }
}

/// Whether `count` messages on each lane can be one collective that no rank leaves before all have
/// joined: each lane's first CTS comes before another's last message has ended.
#[must_use]
pub fn is_joint(lanes: &[(&Lane, usize)], count: usize) -> bool {
    let mut ends = [None; 2];
    for lane in lanes {
        let end = end_of(std::slice::from_ref(lane), count);
        if end > ends[0] {
            ends = [end, ends[0]];
        } else {
            ends[1] = ends[1].max(end);
        }
    }
    lanes.len() < 2
        || lanes.iter().all(|lane| {
            let is_last = end_of(std::slice::from_ref(lane), count) == ends[0];
            let end_of_others = if is_last { ends[1] } else { ends[0] };
            let offered = lane.0.message(lane.1).and_then(|first| first.offered);
            offered.zip(end_of_others).is_none_or(|(offered, end)| offered <= end)
        })
}

/// The latest end of the messages that `lanes` contribute.
#[must_use]
pub fn end_of(lanes: &[(&Lane, usize)], count: usize) -> Option<Timestamp> {
    let ends = lanes.iter().filter_map(|(lane, cursor)| {
        let messages = lane.messages.get(*cursor..(cursor + count).min(lane.messages.len()))?;
        messages.iter().rev().find_map(|message| message.last)
    });
    ends.max()
}
