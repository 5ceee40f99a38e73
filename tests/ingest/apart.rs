//! Files read apart on several threads: what is handed on comes in the order of one stream.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::apart::{Files, Follower, Outbox};
use railscope::ingest::file::event::SourceEvent;
use railscope_core::model::time::Timestamp;

use crate::support::capture_file::{Order, PcapFile};

/// A frame: its file, its number and its time.
type Seen = (usize, u64, Timestamp);

/// Hands on every frame, or every third one.
struct Third {
    all: bool,
    seen: u64,
}

impl Follower for Third {
    type Item = (u64, Timestamp);

    fn event(&mut self, event: SourceEvent<'_>, out: &mut Outbox<Self::Item>) {
        let SourceEvent::Frame(frame) = event else { return };
        assert_eq!(frame.tap.0, 0, "taps are numbered in each file");
        self.seen += 1;
        if self.all || frame.number % 3 == 0 {
            // As much as a batch may have, now and then.
            let bytes = if frame.number % 7 == 0 { 300 << 10 } else { 0 };
            out.push((frame.number, frame.time), bytes);
        }
    }
}

fn write(files: &[Vec<u32>]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().enumerate().map(|(at, times)| {
        let empty = PcapFile::new(Order::Little, true);
        let file = times.iter().fold(empty, |file, time| file.record(*time, 0, 0, &[]));
        let path = folder.path().join(at.to_string());
        std::fs::write(&path, file.bytes).unwrap();
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

/// In the order of one stream.
fn in_order(paths: &[PathBuf]) -> Vec<Seen> {
    let mut captures = CaptureSet::open(paths).unwrap();
    let mut seen = Vec::new();
    while let Some(event) = captures.next_event() {
        if let SourceEvent::Frame(frame) = event {
            seen.push((frame.tap.0 as usize, frame.number, frame.time));
        }
    }
    seen
}

fn apart(paths: &[PathBuf], threads: usize, all: bool) -> (Option<Timestamp>, Vec<Seen>, Vec<u64>) {
    let files = Files::new(CaptureSet::open(paths).unwrap());
    let first = files.first();
    let followers = paths.iter().map(|_| Third { all, seen: 0 }).collect();
    let mut seen = Vec::new();
    let deliver = |(_, file), (number, time)| {
        seen.push((file, number, time));
        Ok::<(), ()>(())
    };
    let threads = NonZeroUsize::new(threads).unwrap();
    let followers = files.follow(followers, threads, deliver, |_| {}).unwrap();
    (first, seen, followers.iter().map(|follower| follower.seen).collect())
}

/// Taps of one stream are numbered by file here, because each file has one.
fn check(files: &[Vec<u32>]) {
    let (_folder, paths) = write(files);
    let expected = in_order(&paths);
    let third: Vec<Seen> =
        expected.iter().copied().filter(|(_, number, _)| number % 3 == 0).collect();
    let counts: Vec<u64> = files.iter().map(|times| times.len() as u64).collect();
    let first = files.iter().filter_map(|times| times.first()).min();
    let first = first.map(|seconds| Timestamp::from_nanos(u64::from(*seconds) * 1_000_000_000));
    for threads in [1, 2, 5] {
        assert_eq!(apart(&paths, threads, true), (first, expected.clone(), counts.clone()));
        assert_eq!(apart(&paths, threads, false), (first, third.clone(), counts.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Times repeat and go back, files are empty and of all lengths.
    #[test]
    fn the_order_is_that_of_one_stream(files in prop::collection::vec(
        prop::collection::vec(0_u32..40, 0..60), 1..7,
    )) {
        check(&files);
    }
}

#[test]
fn files_of_many_batches_keep_the_order() {
    let times = |by: u32, from: u32| (0..20_000).map(|at| from + at / by).collect();
    check(&[times(1, 0), times(7, 100), times(3, 19_000), Vec::new(), times(20_000, 5_000)]);
}

/// Hands on every frame as if it were large, and counts what has not been delivered.
struct Large<'a>(&'a AtomicUsize);

impl Follower for Large<'_> {
    type Item = ();

    fn event(&mut self, event: SourceEvent<'_>, out: &mut Outbox<()>) {
        if matches!(event, SourceEvent::Frame(_)) {
            self.0.fetch_add(1, Ordering::Relaxed);
            out.push((), 1 << 20);
        }
    }
}

/// A file that begins long after the others holds up nothing, and no file gets far ahead.
#[test]
fn what_waits_to_be_delivered_is_bounded() {
    let early = || (0..1_000).collect();
    let (_folder, paths) = write(&[early(), (100_000..100_200).collect(), early(), Vec::new()]);
    for threads in [1, 2, 4] {
        let waiting = AtomicUsize::new(0);
        let (mut most, mut all) = (0, 0);
        let deliver = |_, ()| {
            most = most.max(waiting.fetch_sub(1, Ordering::Relaxed));
            all += 1;
            Ok::<(), ()>(())
        };
        let files = Files::new(CaptureSet::open(&paths).unwrap());
        let followers = paths.iter().map(|_| Large(&waiting)).collect();
        files.follow(followers, NonZeroUsize::new(threads).unwrap(), deliver, |_| {}).unwrap();
        assert_eq!(all, 2_200);
        // 32 MiB, and a batch of one frame for each thread.
        assert!(most <= 48, "{most} MiB on {threads} threads");
    }
}

#[test]
fn who_takes_the_items_may_stop() {
    let (_folder, paths) = write(&[(0..50_000).collect(), (0..50_000).collect()]);
    for threads in [1, 2] {
        let files = Files::new(CaptureSet::open(&paths).unwrap());
        let followers = paths.iter().map(|_| Third { all: true, seen: 0 }).collect();
        let mut taken = 0;
        let deliver = |_, _| {
            taken += 1;
            if taken < 100 { Ok(()) } else { Err("enough") }
        };
        let threads = NonZeroUsize::new(threads).unwrap();
        let outcome = files.follow(followers, threads, deliver, |_| {});
        assert_eq!(outcome.err(), Some("enough"));
        assert_eq!(taken, 100);
    }
}
