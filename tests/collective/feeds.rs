//! Which connection feeds which, in recorded jobs: without the start of the job, no channel is known, and what
//! a sender waits for the chunk that it forwards must come out as with it.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;

use crate::support::railscope::output;
use crate::support::recording::Recording;

fn report(job: &Recording, since_ns: u64) -> Value {
    let messages = job.folder().join("messages.jsonl");
    let options = ["analyze", "--format", "json", "--detail", "full", "--detail-file"];
    let mut arguments: Vec<OsString> = options.map(OsString::from).into();
    arguments.push(messages.into());
    arguments.extend(["--since".into(), format!("{since_ns}ns").into()]);
    arguments.extend(job.captures().into_iter().map(|name| job.folder().join(name).into()));
    serde_json::from_str(&output(arguments.iter().map(OsString::as_os_str))).unwrap()
}

/// What each connection waited for input and because of its sender, by its begin and end in a collective.
fn waits(report: &Value) -> BTreeMap<[u64; 3], [u64; 2]> {
    let all = report["collectives"].as_array().unwrap().iter();
    let edges = all.flat_map(|one| one["connections"].as_array().unwrap());
    let of = |edge: &Value| {
        let waits = edge["waits"].as_object()?;
        let number = |key: &str| waits[key].as_u64().unwrap();
        let place = [number("start_ns"), number("end_ns"), edge["messages"].as_u64()?];
        Some((place, [number("input_wait_ns"), number("sender_wait_ns")]))
    };
    edges.filter_map(of).collect()
}

#[test]
fn waits_for_input_are_the_same_without_the_start_of_the_job() {
    for (name, least) in [("ring-2.27.5", 150), ("async-clean-2.27.5", 250), ("split-2.27.5", 0)] {
        let job = Recording::unpack(name);
        let whole = report(&job, 0);
        let collectives = whole["collectives"].as_array().unwrap();
        let since = collectives[collectives.len() / 4]["start_ns"].as_u64().unwrap();
        let part = report(&job, since.saturating_sub(1_000_000));
        let channels = part["communicators"][0]["channels"].as_array().unwrap();
        assert!(channels.iter().all(|one| one["channel"].is_null()), "{name}: {channels:?}");
        let known = waits(&whole);
        let mut same = 0;
        for (place, found) in waits(&part) {
            // Where it stays unknown, all of the time is transfer.
            let Some(expected) = known.get(&place).filter(|_| found != [0, 0]) else { continue };
            assert_eq!(found[0], expected[0], "{name}: input at {place:?}");
            same += 1;
        }
        assert!(same >= least, "{name}: {same} connections");
    }
}
