//! Pause as seen in frames: per station and priority, how long it asked the other end to stop.
//!
//! MAC control frames end at the next port and reach few captures; where they are not visible, NIC
//! and switch counters show pause.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::sighting::Sighting;
use crate::decode::pause::Pause;
use crate::model::address::MacAddress;
use crate::model::frame::Frame;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Most stations and priorities; further ones are counted as refused.
const CAPACITY: usize = 4096;

/// Pauses listed in all.
const LISTED: usize = 1 << 18;

/// A pause quantum in bit times (IEEE 802.3 annex 31B).
const QUANTUM_BITS: u64 = 512;

/// Window of the storm detection, and the buckets it slides by.
const STORM_WINDOW_NS: u64 = 100_000_000;
const STORM_BUCKET_NS: u64 = 1_000_000;
const STORM_BUCKETS: usize = (STORM_WINDOW_NS / STORM_BUCKET_NS) as usize;

/// Who requests a pause, and for which priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PauseKey {
    /// The observation point.
    pub tap: TapId,
    /// Source address of the frames: the station that is overloaded.
    pub station: MacAddress,
    /// The priority; `None` for 802.3x pause of the whole link.
    pub priority: Option<u8>,
}

/// Requests of one station.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PauseState {
    /// The first frame.
    pub first: Sighting,
    /// Time of the last frame.
    pub last: Timestamp,
    /// Frames that request a pause.
    pub pause_frames: u64,
    /// Frames that end a pause (zero quanta).
    pub resume_frames: u64,
    /// Union of all pauses; `None` if the line rate is unknown.
    pub paused_ns: Option<u64>,
    /// The longest uninterrupted pause; `None` if the line rate is unknown.
    pub longest_ns: Option<u64>,
    /// Storms: times that at least 95 % of 100 ms were paused.
    pub storms: u64,
    listed: Vec<Span>,
    /// Pauses that are only in the sums.
    unlisted: u64,
    current: Option<(Timestamp, Timestamp)>,
    window: StormWindow,
}

/// Paused time of the last 100 ms, per millisecond.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StormWindow {
    #[serde(with = "BigArray")]
    paused_ns: [u32; STORM_BUCKETS],
    sum_ns: u64,
    newest: u64,
    in_storm: bool,
}

/// Pause state of all taps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PauseTable {
    states: BTreeMap<PauseKey, PauseState>,
    /// Pauses listed so far.
    listed: usize,
    refused: u64,
}

impl PauseTable {
    /// Processes a pause frame of `station`. Durations need the tap's line rate.
    pub fn observe(
        &mut self,
        frame: &Frame<'_>,
        station: MacAddress,
        pause: &Pause,
        line_rate_bps: Option<u64>,
    ) {
        let tap = frame.tap;
        match pause {
            Pause::Link { quanta } => {
                let key = PauseKey { tap, station, priority: None };
                self.request(key, *quanta, frame, line_rate_bps);
            }
            Pause::Pfc { enabled, quanta } => {
                for (priority, quanta) in (0u8..8).zip(quanta) {
                    if enabled & (1 << priority) != 0 {
                        let key = PauseKey { tap, station, priority: Some(priority) };
                        self.request(key, *quanta, frame, line_rate_bps);
                    }
                }
            }
        }
    }

    /// Closes open pauses at their end or at the tap's last frame, whichever is first: later pause
    /// was not observed.
    pub fn finish(&mut self, last_frame: impl Fn(TapId) -> Timestamp) {
        for (key, state) in &mut self.states {
            state.cut(last_frame(key.tap));
            self.listed += state.end_current(self.listed < LISTED);
        }
    }

    /// The states by tap, station and priority.
    pub fn iter(&self) -> impl Iterator<Item = (&PauseKey, &PauseState)> {
        self.states.iter()
    }

    /// Requests that did not fit.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes over the states of `other`, whose tap n is `taps[n]` here.
    pub(super) fn join(&mut self, other: Self, taps: &[TapId]) {
        let states = other.states.into_iter();
        self.states.extend(
            states.map(|(key, state)| (PauseKey { tap: key.tap.among(taps), ..key }, state)),
        );
        self.listed += other.listed;
        self.refused += other.refused;
    }

    fn request(&mut self, key: PauseKey, quanta: u16, frame: &Frame<'_>, rate: Option<u64>) {
        if self.states.len() >= CAPACITY && !self.states.contains_key(&key) {
            self.refused += 1;
            return;
        }
        let state = self.states.entry(key).or_insert_with(|| PauseState::new(frame, rate));
        state.last = state.last.max(frame.time);
        if quanta == 0 {
            state.resume_frames += 1;
        } else {
            state.pause_frames += 1;
        }
        if let Some(rate) = rate.filter(|rate| *rate > 0) {
            let bits = u128::from(quanta) * u128::from(QUANTUM_BITS);
            let duration = bits * 1_000_000_000 / u128::from(rate);
            self.listed += state.pause(frame.time, duration as u64, self.listed < LISTED);
        }
    }
}

impl PauseState {
    fn new(frame: &Frame<'_>, line_rate_bps: Option<u64>) -> Self {
        let known = line_rate_bps.map(|_| 0);
        Self {
            first: Sighting { time: frame.time, frame: frame.number },
            last: frame.time,
            pause_frames: 0,
            resume_frames: 0,
            paused_ns: known,
            longest_ns: known,
            storms: 0,
            listed: Vec::new(),
            unlisted: 0,
            current: None,
            window: StormWindow::empty(),
        }
    }

    /// Every pause in order of start; `None` if the line rate is unknown or there are too many.
    #[must_use]
    pub fn pauses(&self) -> Option<&[Span]> {
        (self.paused_ns.is_some() && self.unlisted == 0).then_some(&self.listed)
    }

    /// Adds a pause of `duration_ns` from `time` on, replacing the rest of an earlier one. Returns how
    /// many were listed, if there is room for more.
    fn pause(&mut self, time: Timestamp, duration_ns: u64, has_room: bool) -> usize {
        let end = time.plus_nanos(duration_ns);
        let mut listed = 0;
        match &mut self.current {
            Some((start, until)) if (*start..=*until).contains(&time) => *until = end,
            _ => {
                listed += self.end_current(has_room);
                self.current = Some((time, end));
            }
        }
        if duration_ns == 0 {
            listed += self.end_current(has_room);
        }
        listed
    }

    /// Ends the pause at `time`, the last observation.
    fn cut(&mut self, time: Timestamp) {
        if let Some((start, until)) = &mut self.current {
            *until = (*until).min(time.max(*start));
        }
    }

    /// Ends the current pause; returns how many were listed.
    fn end_current(&mut self, has_room: bool) -> usize {
        let Some((start, end)) = self.current.take() else { return 0 };
        let length = end.nanos_since(start);
        self.paused_ns = self.paused_ns.map(|sum| sum.saturating_add(length));
        self.longest_ns = self.longest_ns.map(|longest| longest.max(length));
        self.storms += self.window.add(start.as_nanos(), end.as_nanos());
        if has_room {
            self.listed.push(Span { first: start, last: end });
        } else {
            self.unlisted += 1;
        }
        usize::from(has_room)
    }
}

impl StormWindow {
    const fn empty() -> Self {
        Self { paused_ns: [0; STORM_BUCKETS], sum_ns: 0, newest: 0, in_storm: false }
    }

    /// Adds the pause [start, end); returns the number of storms that began in it.
    fn add(&mut self, start: u64, end: u64) -> u64 {
        let mut storms = 0;
        let mut at = start;
        // A pause longer than the window is a storm; its middle adds nothing.
        if end - start > 2 * STORM_WINDOW_NS {
            at = end - 2 * STORM_WINDOW_NS;
        }
        while at < end {
            let bucket = at / STORM_BUCKET_NS;
            let until = end.min((bucket + 1).saturating_mul(STORM_BUCKET_NS));
            self.slide_to(bucket);
            let slot = &mut self.paused_ns[bucket as usize % STORM_BUCKETS];
            // If the clock went back, a bucket is paused twice but counted once.
            let paused = (until - at).min(STORM_BUCKET_NS - u64::from(*slot));
            *slot += paused as u32;
            self.sum_ns += paused;
            if self.sum_ns * 100 >= STORM_WINDOW_NS * 95 && !self.in_storm {
                self.in_storm = true;
                storms += 1;
            }
            at = until;
        }
        storms
    }

    /// Drops what is older than the window ending with `bucket`.
    fn slide_to(&mut self, bucket: u64) {
        if bucket + STORM_BUCKETS as u64 <= self.newest {
            // The clock went back: the window starts again.
            *self = Self { newest: bucket, ..Self::empty() };
        }
        let gone = bucket.saturating_sub(self.newest).min(STORM_BUCKETS as u64);
        for back in 0..gone {
            let slot = &mut self.paused_ns[(bucket - back) as usize % STORM_BUCKETS];
            self.sum_ns -= u64::from(*slot);
            *slot = 0;
        }
        self.newest = self.newest.max(bucket);
        if self.sum_ns * 100 < STORM_WINDOW_NS * 95 - STORM_BUCKET_NS * 100 {
            self.in_storm = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tap::LinkType;

    const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const RATE: u64 = 100_000_000_000;
    /// A full pause at 100 Gb/s: 65535 quanta of 512 bits.
    const FULL_NS: u64 = 335_539;

    fn frame(time: Timestamp) -> Frame<'static> {
        Frame {
            tap: TapId(0),
            number: 1,
            time,
            wire_len: 64,
            bytes: &[],
            link_type: LinkType::Ethernet,
            direction: None,
        }
    }

    fn run(frames: impl IntoIterator<Item = (u64, u16)>) -> PauseState {
        let mut table = PauseTable::default();
        for (time, quanta) in frames {
            let pause = Pause::Pfc { enabled: 0b1000, quanta: [0, 0, 0, quanta, 0, 0, 0, 0] };
            table.observe(&frame(Timestamp::from_nanos(time)), STATION, &pause, Some(RATE));
        }
        table.finish(|_| Timestamp::MAX);
        let states: Vec<_> = table.iter().map(|(key, state)| (*key, state.clone())).collect();
        assert_eq!(states.len(), 1);
        assert_eq!(states[0].0.priority, Some(3));
        states[0].1.clone()
    }

    #[test]
    fn overlapping_pauses_count_once() {
        let state = run([(0, 0xffff), (100_000, 0xffff)]);
        assert_eq!(state.paused_ns, Some(100_000 + FULL_NS));
        assert_eq!(state.pause_frames, 2);
    }

    #[test]
    fn zero_quanta_cut_the_pause() {
        let state = run([(0, 0xffff), (5_000, 0), (1_000_000, 0xffff)]);
        assert_eq!(state.paused_ns, Some(5_000 + FULL_NS));
        assert_eq!(state.longest_ns, Some(FULL_NS));
        assert_eq!(state.resume_frames, 1);
    }

    #[test]
    fn a_storm_is_counted_once_and_again_after_a_rest() {
        let refresh = |from: u64| (0..400).map(move |k| (from + k * 300_000, 0xffff));
        assert_eq!(run(refresh(0)).storms, 1);
        assert_eq!(run(refresh(0).chain(refresh(1_000_000_000))).storms, 2);
        // Half of the time paused is not a storm.
        assert_eq!(run((0..400).map(|k| (k * 2 * FULL_NS, 0xffff))).storms, 0);
    }

    #[test]
    fn a_clock_that_goes_back_begins_another_pause() {
        let state = run([(1_000_000_000, 0xffff), (5_000, 0xffff), (6_000, 0)]);
        assert_eq!(state.paused_ns, Some(FULL_NS + 1_000));
        assert_eq!(run((0..400).map(|_| (7_000_000_000, 0xffff))).storms, 0);
        let last = Timestamp::MAX.as_nanos();
        assert_eq!(run([(last - 5, 0xffff), (last, 0)]).paused_ns, Some(5));
    }

    #[test]
    fn without_a_line_rate_times_are_unknown() {
        let mut table = PauseTable::default();
        let pause = Pause::Link { quanta: 7 };
        table.observe(&frame(Timestamp::EPOCH), STATION, &pause, None);
        table.finish(|_| Timestamp::MAX);
        let (key, state) = table.iter().next().unwrap();
        assert_eq!((key.priority, state.paused_ns, state.pause_frames), (None, None, 1));
    }
}
