//! A rank that is late by a little in every training step is found, however little proves it in any
//! single one.

use super::job::{Job, problems};

/// The late rank of the first verdict in each of ten jobs, with other seeds.
fn named(job: &Job) -> Vec<Option<u64>> {
    let of_seed = |seed| {
        let report = Job { seed, ..job.clone() }.report();
        let first = problems(&report).first().map(|first| (*first).clone())?;
        (first["id"] == "late_rank").then(|| first["subject"]["rank"].as_u64())?
    };
    (1..=10).map(of_seed).collect()
}

/// Ten jobs of so many ranks in which the last rank but two is late by 30 ms in each of `steps`
/// training steps of 550 ms, while compute varies by 12 ms either way.
fn late_by_thirty(hosts: u32, iterations: u32) -> (Vec<Option<u64>>, u64) {
    let rank = hosts.saturating_sub(3);
    let job = Job { hosts, iterations, compute_ms: 545, jitter_ms: 12, ..Job::default() };
    (named(&job.with_late(rank, 30, [0, iterations])), u64::from(rank))
}

#[test]
fn thirty_milliseconds_of_550_name_the_rank_after_five_iterations() {
    let (named, rank) = late_by_thirty(8, 5);
    assert_eq!(named, [Some(rank); 10]);
}

#[test]
fn so_they_do_with_fewer_ranks_after_a_few_more() {
    for (hosts, iterations) in [(2, 12), (3, 12), (4, 8)] {
        let (named, rank) = late_by_thirty(hosts, iterations);
        assert_eq!(named, [Some(rank); 10], "{hosts} ranks");
    }
}

#[test]
fn three_per_cent_of_a_training_step_name_the_rank() {
    for hosts in [2, 3, 4, 8] {
        let job = Job { hosts, iterations: 24, compute_ms: 97, jitter_ms: 1, ..Job::default() };
        assert_eq!(named(&job.with_late(1, 3, [0, 24])), [Some(1); 10], "{hosts} ranks");
    }
}

#[test]
fn one_delay_that_took_most_of_the_time_names_its_rank() {
    let job = |delay_ms| Job { iterations: 40, ..Job::default() }.with_late(2, delay_ms, [20, 20]);
    assert_eq!(named(&job(60_000)), [Some(2); 10]);
    let text = job(60_000).analyze(&[]);
    assert!(text.starts_with("● rank 2 was late in 1 of 40 training steps, by 60.0 s"), "{text}");
    // A second of 3.5 is no more than a pause.
    assert_eq!(named(&job(1_000)), [None; 10]);
}
