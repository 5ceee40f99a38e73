//! RAS: asked while a job hangs, and not before.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use crate::ingest::ras::{listen, nccl};
use crate::support::fabric;
use crate::support::fixture;
use crate::support::railscope::PROGRAM;

/// The recorded answer, as a server would give it now of the communicator with this hash.
fn as_of_now(answer: &str, hash: &str) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
    let recorded = ["2026-11-25 10:00:00", "2026-11-25 10:00:15"];
    let timed = recorded.iter().fold(answer.to_owned(), |text, time| text.replace(time, &now));
    timed.replace("27a079b828ff1a75", hash)
}

/// Rank 2 does not call the collective of training step 12, for as long as the test lasts.
const JOB: &str = "--iterations 40 --warmup_iters 0 --check 0 --buckets 512KiB --compute 60ms \
                   --timeout 120s --straggler rank=2,delay=60s,iterations=12..12";

#[test]
fn it_is_asked_while_a_job_hangs() {
    fabric::run("it_is_asked_while_a_job_hangs", 4, |fabric| {
        let asked = Arc::new(AtomicU32::new(0));
        let count = asked.clone();
        let answer = |name: &str| {
            std::fs::read_to_string(fixture::path(&format!("ras/{name}.json"))).unwrap()
        };
        let answers = [answer("behind_1"), answer("behind_2")];
        let job_of_answers = Arc::new(Mutex::new(String::new()));
        let of_job = job_of_answers.clone();
        let address = listen(move |stream, line| {
            let before = count.fetch_add(u32::from(line == "VERBOSE STATUS"), Ordering::Relaxed);
            let answer = &answers[before.min(1) as usize];
            nccl(stream, line, true, as_of_now(answer, &of_job.lock().unwrap()).as_bytes())
        });
        let agent = Agent::start(
            PROGRAM,
            &[
                "taps.interfaces=[\"port*\"]",
                "otlp.interval=\"500ms\"",
                &format!("ras.address=\"{address}\""),
            ],
        );
        let mut job = fabric.drive(JOB);
        eventually("the communicator is known", || {
            let report = agent.report();
            let id = report["communicators"][0]["id"].as_str().unwrap_or_default();
            id.clone_into(&mut job_of_answers.lock().unwrap());
            !id.is_empty()
        });
        assert_eq!(asked.load(Ordering::Relaxed), 0, "the job runs");
        eventually("packets show the hang", || {
            let findings = agent.report()["findings"].clone();
            findings.as_array().unwrap().iter().any(|one| one["id"] == "stalled_collective")
        });
        eventually("RAS is asked", || asked.load(Ordering::Relaxed) > 0);
        eventually("its answer is in the report", || {
            let findings = agent.report()["findings"].clone();
            findings.as_array().unwrap().iter().any(|one| one["id"] == "rank_not_called")
        });
        assert!(asked.load(Ordering::Relaxed) <= 3, "not more often than every 10 s");
        for rank in &mut job {
            rank.kill().unwrap();
            rank.wait().unwrap();
        }
        agent.stop();
    });
}
