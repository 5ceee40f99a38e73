//! Bursts: what averages hide. Bytes per 100 us and per 1 ms bucket of one port and direction.
//!
//! A burst is a run of buckets above a share of the line rate (Millisampler, Meta 2022). Bytes are
//! wire bytes: frame, FCS, preamble and gap. Peaks need no line rate; bursts do, and the line rate
//! is never guessed from the peak.

use serde::{Deserialize, Serialize};

use crate::model::time::Timestamp;

/// Wire bytes of a frame beyond what a capture counts: FCS, preamble, gap.
pub const WIRE_OVERHEAD: u64 = 4 + 20;

/// Bucket widths, the narrow one first.
pub const WIDTHS_NS: [u64; 2] = [100_000, 1_000_000];

/// Narrow buckets in a wide one.
const RATIO: u64 = WIDTHS_NS[1] / WIDTHS_NS[0];

/// Narrow buckets that stay open: packets counted in the kernel arrive with the next packet of
/// their flow, up to 1.25 ms later.
const OPEN_BUCKETS: usize = 16;

/// How far back narrow buckets are still open.
pub const OPEN_NS: u64 = (OPEN_BUCKETS as u64 - 1) * WIDTHS_NS[0];

/// Share of the line rate above which a bucket is part of a burst.
pub const THRESHOLD_OF_LINE_RATE: f64 = 0.5;

/// Content of one bucket.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Bucket {
    bytes: u64,
    ce_packets: u64,
    flows: u32,
    /// Flows that no other narrow bucket of the same wide one has.
    flows_in_wide: u32,
}

/// An open bucket other than the newest one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Earlier {
    number: u64,
    bucket: Bucket,
}

/// Results for buckets of one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstStats {
    /// Bytes of the fullest bucket.
    pub peak_bytes: u64,
    /// Start of the fullest bucket.
    pub peak_at: Timestamp,
    /// Runs of buckets above the threshold.
    pub bursts: u64,
    /// Length of the longest run, in buckets.
    pub longest_buckets: u64,
    /// Buckets above the threshold.
    pub buckets_above: u64,
    /// Most flows in one bucket: the incast degree of a receiving port.
    pub max_flows: u32,
    /// CE-marked packets in buckets above the threshold.
    pub ce_in_bursts: u64,
    /// Since the last interval began, and in the interval before.
    intervals: [Highest; 2],
    run: u64,
    last_above: u64,
}

/// What the fullest buckets of some time held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Highest {
    /// Bytes of the fullest bucket.
    pub bytes: u64,
    /// Most flows in one bucket.
    pub flows: u32,
}

impl Highest {
    /// The higher of each.
    pub fn raise(&mut self, other: Self) {
        self.bytes = self.bytes.max(other.bytes);
        self.flows = self.flows.max(other.flows);
    }

    /// Bits per second in the fullest bucket, which is `width_ns` wide.
    #[must_use]
    pub const fn bps(self, width_ns: u64) -> u64 {
        self.bytes.saturating_mul(8 * (1_000_000_000 / width_ns))
    }
}

impl BurstStats {
    /// Bits per second in the fullest bucket, which is `width_ns` wide.
    #[must_use]
    pub const fn peak_bps(&self, width_ns: u64) -> u64 {
        self.peak_bytes.saturating_mul(8 * (1_000_000_000 / width_ns))
    }

    /// Of the last two intervals: see [`BurstMeter::begin_interval`].
    #[must_use]
    pub fn recent(&self) -> Highest {
        let [mut now, before] = self.intervals;
        now.raise(before);
        now
    }
}

/// Meter of one port and direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BurstMeter {
    /// Number of the current narrow bucket since the epoch, and its start in nanoseconds.
    narrow_number: u64,
    narrow_start: u64,
    narrow: Bucket,
    /// Earlier open buckets, at their number modulo their count.
    earlier: [Earlier; OPEN_BUCKETS],
    /// The wide bucket of the latest closed narrow one.
    wide_number: u64,
    wide: Bucket,
    /// Bytes above which a bucket is part of a burst, per width; `None` without a line rate.
    thresholds: Option<[u64; 2]>,
    stats: [BurstStats; 2],
    ce_packets: u64,
}

/// The buckets in which a flow was last counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BucketMarks([u64; 2]);

impl Default for BucketMarks {
    /// Not counted yet: no bucket has this number.
    fn default() -> Self {
        Self([u64::MAX; 2])
    }
}

impl BurstMeter {
    /// A meter for a port of `line_rate_bps` bits per second.
    #[must_use]
    pub fn new(line_rate_bps: Option<u64>) -> Self {
        let threshold = |rate: u64, width: u64| {
            (rate as f64 / 8.0 * width as f64 / 1e9 * THRESHOLD_OF_LINE_RATE) as u64
        };
        Self {
            thresholds: line_rate_bps.map(|rate| WIDTHS_NS.map(|width| threshold(rate, width))),
            ..Self::default()
        }
    }

    /// Adds `bytes` wire bytes, with this many CE-marked packets among them. `marks` belong to
    /// their flow; `None` for traffic without a flow.
    #[inline]
    pub fn observe(
        &mut self,
        time: Timestamp,
        bytes: u64,
        ce_packets: u64,
        marks: Option<&mut BucketMarks>,
    ) {
        // A clock that went back appears far ahead on the circle and is handled here as well.
        if time.as_nanos().wrapping_sub(self.narrow_start) >= WIDTHS_NS[0] {
            let number = time.as_nanos() / WIDTHS_NS[0];
            if let Some(bucket) = self.earlier_bucket(number) {
                bucket.add(number, bytes, ce_packets, marks);
                return;
            }
            self.begin_bucket(number);
        }
        self.narrow.add(self.narrow_number, bytes, ce_packets, marks);
    }

    /// Results per width, in the order of [`WIDTHS_NS`], with the open buckets closed.
    #[must_use]
    pub fn finish(&self) -> [BurstStats; 2] {
        let mut closed = self.clone();
        closed.close_all();
        closed.close_wide();
        closed.stats
    }

    /// Begins an interval: figures of all but the latest two intervals are no longer recent.
    pub fn begin_interval(&mut self) {
        for stats in &mut self.stats {
            let [now, _] = stats.intervals;
            stats.intervals = [Highest::default(), now];
        }
    }

    /// CE-marked packets in all buckets.
    #[must_use]
    pub const fn ce_packets(&self) -> u64 {
        let mut sum = self.ce_packets + self.narrow.ce_packets;
        let mut at = 0;
        while at < OPEN_BUCKETS {
            sum += self.earlier[at].bucket.ce_packets;
            at += 1;
        }
        sum
    }

    /// Whether bursts can be detected: the line rate is known.
    #[must_use]
    pub const fn has_line_rate(&self) -> bool {
        self.thresholds.is_some()
    }

    /// The bucket with this number, if it is open and not the newest one.
    #[cold]
    fn earlier_bucket(&mut self, number: u64) -> Option<&mut Bucket> {
        let age = self.narrow_number.checked_sub(number)?;
        if age >= OPEN_BUCKETS as u64 {
            return None;
        }
        let place = &mut self.earlier[place_of(number)];
        if place.number != number {
            *place = Earlier { number, bucket: Bucket::default() };
        }
        Some(&mut place.bucket)
    }

    #[cold]
    fn begin_bucket(&mut self, number: u64) {
        let open = OPEN_BUCKETS as u64;
        if number < self.narrow_number || number - self.narrow_number >= open {
            self.close_all();
        } else {
            // Buckets that are too old now, oldest first.
            for closing in self.narrow_number..number {
                self.close_earlier(closing.wrapping_sub(open - 1));
            }
            let bucket = std::mem::take(&mut self.narrow);
            let place = &mut self.earlier[place_of(self.narrow_number)];
            *place = Earlier { number: self.narrow_number, bucket };
        }
        self.narrow_number = number;
        self.narrow_start = number * WIDTHS_NS[0];
    }

    /// Closes the earlier bucket with this number, if there is one.
    fn close_earlier(&mut self, number: u64) {
        let place = &mut self.earlier[place_of(number)];
        if place.number == number {
            let bucket = std::mem::take(&mut place.bucket);
            self.close_narrow(number, &bucket);
        }
    }

    /// Closes all narrow buckets, oldest first.
    fn close_all(&mut self) {
        for age in (1..OPEN_BUCKETS as u64).rev() {
            self.close_earlier(self.narrow_number.wrapping_sub(age));
        }
        let bucket = std::mem::take(&mut self.narrow);
        self.close_narrow(self.narrow_number, &bucket);
    }

    fn close_narrow(&mut self, number: u64, bucket: &Bucket) {
        if number / RATIO != self.wide_number {
            self.close_wide();
            self.wide_number = number / RATIO;
        }
        self.wide.bytes += bucket.bytes;
        self.wide.ce_packets += bucket.ce_packets;
        self.wide.flows += bucket.flows_in_wide;
        self.ce_packets += bucket.ce_packets;
        let threshold = self.thresholds.map(|thresholds| thresholds[0]);
        self.stats[0].close(bucket, number, WIDTHS_NS[0], threshold);
    }

    fn close_wide(&mut self) {
        let bucket = std::mem::take(&mut self.wide);
        let threshold = self.thresholds.map(|thresholds| thresholds[1]);
        self.stats[1].close(&bucket, self.wide_number, WIDTHS_NS[1], threshold);
    }
}

impl Bucket {
    /// Counts frames in this bucket, which has the given number.
    #[inline]
    fn add(&mut self, number: u64, bytes: u64, ce_packets: u64, marks: Option<&mut BucketMarks>) {
        self.bytes += bytes;
        self.ce_packets += ce_packets;
        if let Some(BucketMarks(marks)) = marks
            && marks[0] != number
        {
            marks[0] = number;
            self.flows += 1;
            let wide_number = number / RATIO;
            if marks[1] != wide_number {
                marks[1] = wide_number;
                self.flows_in_wide += 1;
            }
        }
    }
}

/// Index of a bucket among the open ones.
const fn place_of(number: u64) -> usize {
    (number % OPEN_BUCKETS as u64) as usize
}

impl BurstStats {
    fn close(&mut self, bucket: &Bucket, number: u64, width_ns: u64, threshold: Option<u64>) {
        if bucket.bytes > self.peak_bytes {
            self.peak_bytes = bucket.bytes;
            self.peak_at = Timestamp::from_nanos(number * width_ns);
        }
        self.max_flows = self.max_flows.max(bucket.flows);
        self.intervals[0].raise(Highest { bytes: bucket.bytes, flows: bucket.flows });
        if threshold.is_some_and(|threshold| bucket.bytes > threshold) {
            let continues = self.run > 0 && self.last_above + 1 == number;
            self.run = if continues { self.run + 1 } else { 1 };
            self.bursts += u64::from(!continues);
            self.last_above = number;
            self.longest_buckets = self.longest_buckets.max(self.run);
            self.buckets_above += 1;
            self.ce_in_bursts += bucket.ce_packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 80 Gb/s: a full 100 us bucket holds 1 MB, a full 1 ms bucket 10 MB.
    const RATE: Option<u64> = Some(80_000_000_000);

    fn meter(packets: &[(u64, u64)]) -> [BurstStats; 2] {
        let mut meter = BurstMeter::new(RATE);
        for (time, bytes) in packets {
            meter.observe(Timestamp::from_nanos(*time), *bytes, 1, None);
        }
        meter.finish()
    }

    #[test]
    fn a_run_of_full_buckets_is_one_burst() {
        let [narrow, wide] = meter(&[(0, 600_000), (150_000, 600_000), (250_000, 400_000)]);
        assert_eq!((narrow.bursts, narrow.longest_buckets, narrow.buckets_above), (1, 2, 2));
        assert_eq!((narrow.ce_in_bursts, narrow.peak_bytes), (2, 600_000));
        assert_eq!((wide.bursts, wide.peak_bytes), (0, 1_600_000));
    }

    #[test]
    fn a_pause_between_full_buckets_makes_two_bursts() {
        let [narrow, _] = meter(&[(0, 600_000), (250_000, 600_000)]);
        assert_eq!((narrow.bursts, narrow.longest_buckets), (2, 1));
        assert_eq!(narrow.peak_at, Timestamp::EPOCH);
    }

    #[test]
    fn one_wrong_time_does_not_swallow_what_follows() {
        let wrong = Timestamp::MAX.as_nanos();
        let [narrow, _] =
            meter(&[(0, 400_000), (wrong, 1), (300_000, 400_000), (500_000, 400_000)]);
        assert_eq!((narrow.peak_bytes, narrow.bursts), (400_000, 0));
    }

    #[test]
    fn what_is_a_little_late_counts_where_it_belongs() {
        let late = [(950_000, 400_000), (450_000, 300_000), (480_000, 300_000), (960_000, 1)];
        let mut in_order = late;
        in_order.sort_unstable();
        assert_eq!(meter(&late), meter(&in_order));
        let [narrow, _] = meter(&late);
        assert_eq!((narrow.peak_bytes, narrow.bursts), (600_000, 1));
    }

    #[test]
    fn recent_is_what_the_last_two_intervals_had() {
        let mut meter = BurstMeter::new(None);
        let mut recent = Vec::new();
        for (at, bytes) in [(0, 500), (200_000, 300), (400_000, 100), (600_000, 0)] {
            meter.observe(Timestamp::from_nanos(at), bytes, 0, Some(&mut BucketMarks::default()));
            meter.close_all();
            let [narrow, _] = meter.finish();
            recent.push((narrow.recent().bytes, narrow.recent().flows));
            assert_eq!(narrow.peak_bytes, 500);
            meter.begin_interval();
        }
        assert_eq!(recent, [(500, 1), (500, 1), (300, 1), (100, 1)]);
    }

    #[test]
    fn a_flow_counts_once_a_bucket() {
        let mut meter = BurstMeter::new(RATE);
        let mut marks = [BucketMarks::default(), BucketMarks::default()];
        for time in [1_000_000, 1_000_010, 1_000_020, 1_100_000] {
            for mark in &mut marks {
                meter.observe(Timestamp::from_nanos(time), 100, 0, Some(mark));
            }
        }
        assert_eq!(meter.finish().map(|stats| stats.max_flows), [2, 2]);
    }
}
