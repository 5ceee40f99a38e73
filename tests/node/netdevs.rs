//! Statistics of this machine's network interfaces, against iproute2.

use std::collections::BTreeSet;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use railscope::ingest::counter::ethtool::{Ethtool, NetdevStatistics};
use serde_json::Value;

use crate::support::require;

#[test]
fn every_interface_can_be_asked() {
    let mut ethtool = Ethtool::open().unwrap();
    for entry in std::fs::read_dir("/sys/class/net").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let statistics = ethtool.read(&name).unwrap();
        let names: BTreeSet<&str> = statistics.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), statistics.len(), "{name}");
    }
    assert!(ethtool.read("lo").unwrap().is_empty());
    assert!(ethtool.read("no_such_netdev").is_err());
}

/// The first statistic of a veth is its peer's index.
#[test]
fn a_veth_reports_its_peer() {
    let test = "a_veth_reports_its_peer";
    if !require::has(test, "ip") || !require::root(test) {
        return;
    }
    // Only this thread and its children are in the new namespace.
    let thread = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        let ip = |arguments: &str| {
            let run = Command::new("ip").args(arguments.split(' ')).output().unwrap();
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            run.stdout
        };
        ip("link add near index 77 type veth peer name far index 88");
        let mut ethtool = Ethtool::open().unwrap();
        let statistics = ethtool.read("near").unwrap();
        let links: Value = serde_json::from_slice(&ip("-j link show far")).unwrap();
        assert_eq!(statistics[0].0, "peer_ifindex");
        assert_eq!(Some(statistics[0].1), links[0]["ifindex"].as_u64());
        assert_eq!(ethtool.read("far").unwrap()[0].1, 77);
    });
    thread.join().unwrap();
}
