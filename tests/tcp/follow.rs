//! Streams of real captures, byte for byte the same as in tshark.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use railscope_core::flow::tcp_stream::sink::Ending;

use crate::support::fixture;
use crate::support::require;
use crate::support::streams::{self, Recorded, Stretch};

/// The bytes of both ends, by the first segment's sender and receiver.
type Followed = BTreeMap<[SocketAddr; 2], [Vec<u8>; 2]>;

/// Every connection of `capture` as `tshark -z follow` prints it.
fn followed(capture: &Path, connections: usize) -> Followed {
    let mut command = Command::new("tshark");
    command.args(["-n", "-q"]);
    for number in 0..connections {
        command.args(["-z", &format!("follow,tcp,raw,{number}")]);
    }
    let output = command.arg("-r").arg(capture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut followed = Followed::new();
    for one in text.split("Follow: tcp,raw\n").skip(1) {
        let mut lines = one.lines().skip(1);
        let mut node = || lines.next().unwrap().split_once(": ").unwrap().1.parse().unwrap();
        let ends = [node(), node()];
        let mut sent = [Vec::new(), Vec::new()];
        for line in lines.take_while(|line| !line.starts_with('=')) {
            let side = usize::from(line.starts_with('\t'));
            sent[side].extend(unhex(line.trim_start()));
        }
        assert!(followed.insert(ends, sent).is_none(), "the same endpoints twice: {ends:?}");
    }
    followed
}

fn unhex(text: &str) -> impl Iterator<Item = u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
}

fn whole(sent: &[Stretch]) -> Vec<u8> {
    match sent {
        [] => Vec::new(),
        [Stretch::Bytes(bytes)] => bytes.clone(),
        other => panic!("gaps: {}", other.len()),
    }
}

/// Checks that all connections of a fixture equal tshark's; returns them.
fn compare(name: &str) -> Vec<Recorded> {
    let path = fixture::path("tcp").join(name);
    let recorded = streams::of_file(&path);
    if require::has(name, "tshark") {
        let ours: Followed = recorded
            .iter()
            .map(|one| {
                let ends = [one.connection.client, one.connection.server];
                (ends, [whole(&one.client), whole(&one.server)])
            })
            .collect();
        let theirs = followed(&path, recorded.len());
        assert_eq!(ours.len(), recorded.len());
        assert!(ours.keys().eq(theirs.keys()), "{:?}\n{:?}", ours.keys(), theirs.keys());
        for (ends, sent) in &theirs {
            assert!(&ours[ends] == sent, "{ends:?} differ");
        }
    }
    recorded
}

fn endings(recorded: &[Recorded], ending: Ending) -> usize {
    recorded.iter().filter(|one| one.ending == Some(ending)).count()
}

#[test]
fn streams_of_a_job() {
    let recorded = compare("nccl_2.27.5.pcap.gz");
    assert!(recorded.iter().all(|one| one.connection.is_from_start));
}

#[test]
fn streams_of_a_job_whose_start_was_not_captured() {
    let recorded = compare("nccl_mid_job.pcap.gz");
    assert!(recorded.iter().any(|one| !one.connection.is_from_start));
}

#[test]
fn streams_of_a_job_with_a_rank_that_dies() {
    let recorded = compare("nccl_rank_crash.pcap.gz");
    assert!(endings(&recorded, Ending::Finished) > 0);
}

#[test]
fn streams_of_a_store_served_by_the_poll_loop() {
    compare("tcpstore_legacy.pcap.gz");
}

#[test]
fn streams_of_a_store_served_by_libuv() {
    compare("tcpstore_uv.pcap.gz");
}
