//! Jobs of NCCL 2.28.9 on an H100: four ranks over sockets on loopback, three AllReduces of 4 MiB an
//! iteration, by `tests/profiler/gpu.sh`. One channel of thirteen collectives was kept of each.
//!
//! In `late-cpu`, rank 2 slept for 50 ms before each iteration; in `late-gpu`, the GPU of rank 1 was
//! busy for 50 ms; in `clean-1`, nothing was.

use railscope_core::analysis::proxy::{Late, Lateness, ProcessRecords, judgements};
use railscope_core::decode::profiler::Stream;

fn judge(job: &str) -> Vec<Late> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let processes = (0..4).map(|rank| {
        let path = format!("{folder}/{job}/rank{rank}.railprof");
        let bytes = std::fs::read(path).unwrap();
        let mut records = ProcessRecords::new(String::new());
        let mut stream = Stream::default();
        stream.feed(&bytes, &mut |item| records.take(item)).unwrap();
        stream.end(&mut |item| records.take(item)).unwrap();
        records.finish();
        assert_eq!(records.forgotten, 0, "{job}, rank {rank}");
        assert_eq!(records.communicators[&1].of.as_ref().unwrap().version, 5);
        records
    });
    let judged = judgements(&processes.collect::<Vec<_>>());
    judged.into_iter().filter_map(|one| one.late).collect()
}

/// Five delays of 50 ms are in each part, and a few collectives of a millisecond or two.
fn is_delay(late: &Late) -> bool {
    (240_000_000..275_000_000).contains(&late.late_ns)
}

#[test]
fn a_rank_that_called_late_is_named() {
    let [late] = judge("late-cpu")[..] else { panic!("one rank is late") };
    assert_eq!((late.rank, late.why), (2, Lateness::Enqueue));
    assert!(is_delay(&late), "{late:?}");
}

#[test]
fn a_rank_with_a_late_gpu_is_named() {
    let [late] = judge("late-gpu")[..] else { panic!("one rank is late") };
    assert_eq!((late.rank, late.why), (1, Lateness::Gpu));
    assert!(is_delay(&late), "{late:?}");
}

#[test]
fn a_clean_job_names_nobody() {
    assert_eq!(judge("clean-1"), []);
}
