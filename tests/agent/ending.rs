//! An agent leaves nothing behind in the kernel, however it ends.

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use std::process::Command;

use crate::support::fabric;
use crate::support::railscope::PROGRAM;

/// Our programs in the kernel (name and id), and the queueing disciplines of `port0`.
fn behind() -> String {
    let ours = aya::programs::loaded_programs().filter_map(|program| {
        let program = program.ok()?;
        let name = program.name_as_str()?;
        ["packets_in", "packets_out", "mirrored_in"]
            .contains(&name)
            .then(|| format!("{name} {}\n", program.id()))
    });
    let ours: String = ours.collect();
    let qdiscs = Command::new("tc").args(["qdisc", "show", "dev", "port0"]).output().unwrap();
    ours + &String::from_utf8(qdiscs.stdout).unwrap()
}

/// What was not there `before`: programs of other tests come and go.
fn new_since(before: &str) -> Vec<String> {
    let now = behind();
    now.lines().filter(|line| !before.lines().any(|old| old == *line)).map(str::to_owned).collect()
}

#[test]
fn killed_it_leaves_nothing_behind() {
    fabric::run("killed_it_leaves_nothing_behind", 1, |_| {
        let taps = "taps.interfaces=[\"port0\"]";
        let of_mirror = ["taps.interfaces=[\"port1\"]", "taps.mirrors=[\"port1\"]"];
        let add = "link add name port1 type veth peer name other1";
        assert!(Command::new("ip").args(add.split(' ')).status().unwrap().success());
        for (settings, name) in [(&[taps][..], "packets_in"), (&of_mirror, "mirrored_in")] {
            let before = behind();
            let agent = Agent::start(PROGRAM, settings);
            let own = new_since(&before);
            assert!(own.iter().any(|line| line.starts_with(name)), "{own:?}");
            agent.kill();
            eventually("its programs are gone", || {
                let now = new_since(&before);
                !own.iter().any(|line| now.contains(line))
            });
            // The next agent can attach.
            let said = Agent::start(PROGRAM, settings).stop();
            assert!(!said.contains("is not read in its driver"), "{said}");
        }
    });
}
