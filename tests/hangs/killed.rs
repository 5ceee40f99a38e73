//! A process that is killed, where the others of its job give up at once.

use std::path::Path;

use railscope_testbed::broken::{BrokenJob, Fault, PROGRAMS};

use crate::support::pcap;
use crate::support::railscope::{PROGRAM, analyze};
use crate::support::require;

/// A capture that goes on after its last frame: some other frame comes later.
fn goes_on(path: &Path, after_ns: u64) {
    const FILE_HEADER: usize = 24;
    const RECORD_HEADER: usize = 16;
    let mut capture = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut last_ns) = (FILE_HEADER, 0);
    while at + RECORD_HEADER <= capture.len() {
        last_ns = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        at += RECORD_HEADER + word(at + 8) as usize;
    }
    let parts: [&[u8]; 4] = [&[0xff; 6], &[2, 0, 0, 0, 0, 9], &[0x08, 0x06], &[0; 46]];
    let broadcast = parts.concat();
    pcap::record(&mut capture, last_ns + after_ns, &broadcast, broadcast.len());
    std::fs::write(path, capture).unwrap();
}

/// Their connections end as those of a set-up do, but a set-up began them just before.
#[test]
fn peers_that_give_up_at_once_are_no_set_up() {
    let test = "peers_that_give_up_at_once_are_no_set_up";
    if !require::root(test) || !PROGRAMS.iter().all(|program| require::has(test, program)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = "--ranks 4 --iterations 4000 --buckets 64KiB --compute 25ms -T 6s";
    let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    let job = BrokenJob::start(Path::new(PROGRAM), &options, folder.path());
    // Some seconds of data.
    job.break_it(4, 20_000_000, Fault::Killed { rank: 2 });
    assert!(!job.wait(), "the job goes on");
    let captures: Vec<_> =
        (0..4).map(|rank| folder.path().join(format!("rank{rank}.pcap"))).collect();
    captures.iter().for_each(|capture| goes_on(capture, 3_000_000_000));
    let report = analyze(&captures);
    let verdict = &report["verdicts"][0];
    assert_eq!(verdict["id"], "process_gone", "{:#}", report["verdicts"]);
    assert_eq!(verdict["subject"]["rank"], 2, "{:#}", report["verdicts"]);
}
