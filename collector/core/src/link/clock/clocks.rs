//! The clocks of all taps and their references.

use super::track::{Track, WhyUnknown};
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// How the clock of one tap relates to its reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TapClock {
    /// The tap it is compared with; itself for the reference tap. `None` if nothing relates it to
    /// another.
    pub reference: Option<TapId>,
    /// Its offset from the reference.
    pub track: Track,
    /// Its offset from the timeline that all times are put onto: the reference may have a reference
    /// of its own.
    pub timeline: Track,
    /// Why `track` is unknown or uncertain, if it is and there are several taps.
    pub why_unknown: Option<WhyUnknown>,
}

/// The clocks of all taps, by number.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    pub(super) taps: Vec<TapClock>,
}

impl Clocks {
    /// The clocks of taps, by number.
    #[must_use]
    pub const fn new(taps: Vec<TapClock>) -> Self {
        Self { taps }
    }

    /// The clock of a tap, if it was examined.
    #[must_use]
    pub fn clock(&self, tap: TapId) -> Option<&TapClock> {
        self.taps.get(tap.0 as usize)
    }

    /// The time on the timeline when the clock of `tap` shows `time`.
    #[must_use]
    pub fn aligned(&self, tap: TapId, time: Timestamp) -> Timestamp {
        self.clock(tap).map_or(time, |clock| clock.timeline.other_at(time))
    }

    /// The tap that packets relate the clock of `tap` to, and the uncertainty in nanoseconds; the
    /// tap itself if nothing relates it to another, or not from both sides.
    #[must_use]
    pub fn anchor(&self, tap: TapId) -> (TapId, u64) {
        let related = || {
            let clock = self.clock(tap)?;
            let is_of_packets = clock.why_unknown != Some(WhyUnknown::SameMachine);
            Some((clock.reference.filter(|_| is_of_packets)?, clock.track.uncertainty_ns?))
        };
        related().unwrap_or((tap, 0))
    }

    /// Whether any time is corrected.
    #[must_use]
    pub fn corrects(&self) -> bool {
        self.taps.iter().any(|clock| !clock.timeline.pieces.is_empty())
    }
}
