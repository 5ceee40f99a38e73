//! Clocks of several taps. Recorded jobs have timestamps of one clock; these tests give the taps
//! clocks of their own. The report must be the same as with one clock.

mod found;
mod marked;
mod unchanged;
mod unknown;

use std::path::PathBuf;

use serde_json::Value;

use crate::support::railscope;
use crate::support::recording::Recording;
use crate::support::skewed;

/// The time that a clock shows, in nanoseconds, at time `since` after the job's start.
type Clock = fn(since: i64) -> i64;

/// 37 ms ahead and 40 ppm fast.
const AHEAD: Clock = |since| 37_000_000 + since / 25_000;

/// 37 ms behind and 40 ppm slow.
const BEHIND: Clock = |since| -37_000_000 - since / 25_000;

struct Job {
    /// Keeps the folder.
    _recording: Recording,
    captures: Vec<PathBuf>,
    start: u64,
}

impl Job {
    /// The captures of the job `run` whose name contains one of `taps`; all captures if `taps` is
    /// empty.
    fn new(run: &str, taps: &[&str]) -> Self {
        let recording = Recording::unpack(run);
        let names = recording.captures();
        let wanted = |name: &&String| taps.is_empty() || taps.iter().any(|tap| name.contains(tap));
        let captures: Vec<PathBuf> =
            names.iter().filter(wanted).map(|name| recording.folder().join(name)).collect();
        let first = |capture| skewed::times(&std::fs::read(capture).unwrap())[0];
        let start = captures.iter().map(first).min().unwrap();
        Self { _recording: recording, captures, start }
    }

    /// Gives the taps whose name contains `host` a clock of their own.
    fn skew(&self, host: &str, clock: Clock) {
        self.change(host, |pcap| {
            skewed::restamp(pcap, |time| {
                time.saturating_add_signed(clock(time.saturating_sub(self.start) as i64))
            });
        });
    }

    /// Drops all IPv4 packets except those from `source`.
    fn keep_from(&self, source: [u8; 4]) {
        self.change("", |pcap| skewed::retain(pcap, |_, frame| frame[26..30] == source));
    }

    fn change(&self, host: &str, change: impl Fn(&mut Vec<u8>)) {
        for capture in self.captures.iter().filter(|name| name.to_string_lossy().contains(host)) {
            let mut pcap = std::fs::read(capture).unwrap();
            change(&mut pcap);
            std::fs::write(capture, pcap).unwrap();
        }
    }

    fn analyze(&self) -> Report {
        Report(railscope::analyze(&self.captures))
    }

    /// The text report.
    fn text(&self) -> String {
        railscope::text(&self.captures)
    }
}

/// The JSON report.
struct Report(Value);

impl Report {
    /// The tap of the capture whose name contains `name`.
    fn tap(&self, name: &str) -> &Value {
        let mut taps = self.0["taps"].as_array().unwrap().iter();
        taps.find(|tap| tap["file"].as_str().unwrap().contains(name)).unwrap()
    }

    /// A time in the report, in nanoseconds since 1970.
    fn absolute(&self, time: &Value) -> Option<i64> {
        let origin: i64 = self.0["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
        Some(origin + time.as_i64()?)
    }
}
