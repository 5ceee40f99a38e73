//! The ring as an agent reads it, and the lease.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::{Duration, Instant};

use railscope_core::decode::profiler::Record;

use super::descriptor::Descriptor;
use super::sys::{Nccl, mask};

fn write(nccl: &Nccl, place: u64, value: u64) {
    let file = OpenOptions::new().write(true).open(nccl.ring_path()).unwrap();
    file.write_all_at(&value.to_le_bytes(), place * 8).unwrap();
}

fn monotonic() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
    (seconds * 1e9) as u64
}

#[expect(clippy::disallowed_methods, reason = "a test waits for a thread")]
fn becomes(nccl: &Nccl, wanted: i32) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        if mask(nccl) == wanted {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn what_is_in_the_ring_is_read_while_the_job_runs() {
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_DIR", "")]);
    let ctx = nccl.init(0xabc, 2);
    let coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 2, 1));
    nccl.stop(coll);
    let recorded = nccl.read_ring();
    assert_eq!(recorded.communicators[0].hash, Some(0xabc));
    let [Record::Collective(one)] = recorded.records[..] else { panic!("{recorded:?}") };
    assert_eq!((one.comm, one.sequence), (recorded.communicators[0].number, 1));
    assert_eq!(recorded.counts.unwrap().0, 1);
    let mode = std::fs::metadata(nccl.ring_path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    nccl.finalize(ctx);
    assert!(nccl.end().headers.is_empty(), "no file was asked for");
}

#[test]
fn a_lease_ends_by_itself() {
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_MASK", "0")]);
    let ctx = nccl.init(1, 0);
    assert_eq!(mask(&nccl), 0);
    write(&nccl, 16, 30);
    write(&nccl, 17, monotonic() + 700_000_000);
    assert!(becomes(&nccl, 30));
    // A communicator that begins meanwhile does not end it.
    let other = nccl.init(2, 0);
    assert_eq!(mask(&nccl), 30);
    // Nobody renews it, as when the agent was killed.
    assert!(becomes(&nccl, 0));
    nccl.finalize(other);
    nccl.finalize(ctx);
    nccl.end();
}

#[test]
fn a_lease_without_end_is_refused() {
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_MASK", "2")]);
    let ctx = nccl.init(1, 0);
    write(&nccl, 16, 64);
    write(&nccl, 17, u64::MAX);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(mask(&nccl), 2);
    nccl.finalize(ctx);
    nccl.end();
}

#[test]
fn rings_of_killed_processes_are_removed() {
    let nccl = Nccl::load(6, &[]);
    let left = nccl.folder.path().join("railscope-profiler.1");
    let held = nccl.folder.path().join("railscope-profiler.2");
    for path in [&left, &held] {
        std::fs::write(path, b"").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        OpenOptions::new().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let holder = std::fs::File::open(&held).unwrap();
    holder.lock_shared().unwrap();
    let ctx = nccl.init(1, 0);
    assert!(!left.exists() && held.exists());
    nccl.finalize(ctx);
    nccl.end();
}

#[test]
fn without_a_folder_for_the_ring_the_file_is_written_all_the_same() {
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_SHM", "/nonexistent/folder")]);
    let ctx = nccl.init(1, 0);
    let coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, 0));
    nccl.stop(coll);
    nccl.finalize(ctx);
    assert_eq!(nccl.end().records.len(), 1);
}
