//! Simulated hangs of which one host's capture ends before the hang begins, as a file that was copied while it was
//! written: what it lacks proves nothing.

use std::path::Path;

use serde_json::Value;

use super::simulated::simulate;
use crate::cli::railscope;

/// The first hang, by the captures of all hosts, that of `host` being cut short.
fn explained(folder: &Path, host: Option<u32>) -> Value {
    let captures = (0..4).map(|host| folder.join(format!("job/host{host}.pcapng")));
    let captures: Vec<_> = captures.collect();
    if let Some(host) = host {
        let capture = &captures[host as usize];
        let whole = std::fs::read(capture).unwrap();
        // Nearly all frames are of before the hang.
        std::fs::write(capture, &whole[..whole.len() / 2]).unwrap();
    }
    let options = ["explain", "--hang", "--format", "json"].map(str::to_owned);
    let captures = captures.iter().map(|capture| capture.to_str().unwrap().to_owned());
    let run = railscope(options.into_iter().chain(captures));
    let said = if host.is_some() { run.warns() } else { run.succeeds() };
    let said: Value = serde_json::from_str(&said).unwrap();
    let hangs = said["hangs"].as_array().unwrap();
    let hang = hangs.iter().find(|hang| hang["class"] != "capture_stopped");
    hang.unwrap_or_else(|| panic!("nothing hangs: {said}")).clone()
}

fn halt(what: &str) -> String {
    format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n")
}

/// It may have sent what a dead path lost.
#[test]
fn a_rank_is_not_blamed_for_what_its_own_capture_lacks() {
    for what in ["calls", "gpu"] {
        let folder = tempfile::tempdir().unwrap();
        simulate(folder.path(), &halt(what));
        let whole = explained(folder.path(), None);
        assert_eq!(whole["subject"]["rank"], 2, "{what}: {whole}");
        let cut = explained(folder.path(), Some(2));
        assert_eq!(cut["class"], "stalled_collective", "{what}: {cut}");
        assert_eq!(cut["subject"]["rank"], Value::Null, "{what}: {cut}");
    }
}

#[test]
fn the_capture_of_a_neighbour_takes_nothing_from_a_rank_that_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), &halt("calls"));
    let cut = explained(folder.path(), Some(1));
    assert_eq!(cut["class"], "rank_not_called", "{cut}");
    assert_eq!(cut["subject"]["rank"], 2, "{cut}");
}

/// Of two neighbours of the port, one shows that nothing reaches it; of the other nothing is known.
#[test]
fn a_path_is_not_proven_while_the_port_s_other_neighbour_is_unknown() {
    let fault = "[[loss]]\nport = \"leaf0:host2\"\nshare = \"100%\"\nfrom = \"120ms\"\n";
    for neighbour in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        simulate(folder.path(), fault);
        let hang = explained(folder.path(), Some(neighbour));
        assert_eq!(hang["class"], "port_down", "{neighbour}: {hang}");
        assert_eq!(hang["alternative"], "path_dead", "{neighbour}: {hang}");
        assert_eq!(hang["grade"], "inferred", "{neighbour}: {hang}");
    }
}
