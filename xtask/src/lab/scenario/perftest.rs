//! Other RDMA programs over a lossless fabric: railscope's counts match what perftest and rping print,
//! and it finds nothing wrong.

use std::path::Path;

use anyhow::{Context, Result};

use super::definition::Scenario;
use crate::lab::agreement::{self, Receiver};
use crate::lab::analysis::Messages;
use crate::lab::case::{Case, HOSTS, addresses};
use crate::lab::facts::Facts;
use crate::lab::{perftest, trouble};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "perftest",
    about: "perftest and rping: WRITE, READ, SEND, atomics; RC, UC, UD; IPv6, MTU 4096, rdma_cm",
    limit: 600,
    needs_verbs: false,
    has_older_kernel: false,
    check,
};

/// One kind of message.
type Kind = fn(&Messages) -> u64;

const WRITE: Kind = |messages| messages.write;
const READ: Kind = |messages| messages.read;
const SEND: Kind = |messages| messages.send;
const ATOMIC: Kind = |messages| messages.atomic;

/// Pings of rping: `-C` in the script.
const PINGS: u64 = 20;

/// Cases of perftest: what they send, and whether both hosts do.
const CASES: &[(&str, Kind, bool)] = &[
    ("write_bw", WRITE, false),
    ("write_bw_uc", WRITE, false),
    ("write_bw_mtu4096", WRITE, false),
    ("write_bw_ipv6", WRITE, false),
    ("write_bw_qps", WRITE, false),
    ("write_bw_both", WRITE, true),
    ("write_lat", WRITE, true),
    ("read_bw", READ, false),
    ("send_bw", SEND, false),
    ("send_bw_uc", SEND, false),
    ("send_bw_ud", SEND, false),
    ("send_lat", SEND, true),
    ("atomic_add", ATOMIC, false),
    ("atomic_swap", ATOMIC, false),
    ("write_bw_cm", WRITE, false),
];

fn check(folder: &Path, railscope: &Path, facts: &mut Facts) -> Result<()> {
    for &(name, kind, both) in CASES {
        let case = clean_case(folder, name, railscope, facts)?;
        let said = case.text("client")?;
        let count = perftest::iterations(&said)
            .with_context(|| format!("{name}: perftest printed no result:\n{said}"))?;
        expect(&case, 0, "messages", kind, count, facts);
        expect(&case, 1, "messages", kind, if both { count } else { 0 }, facts);
    }
    let rping = clean_case(folder, "rping", railscope, facts)?;
    // The server fetches each ping by READ and brings it back by WRITE.
    expect(&rping, 1, "READs", READ, PINGS, facts);
    expect(&rping, 1, "WRITEs", WRITE, PINGS, facts);
    Ok(())
}

fn clean_case(folder: &Path, name: &str, railscope: &Path, facts: &mut Facts) -> Result<Case> {
    let case = Case::read(folder, name, railscope)?;
    agreement::check(&case, Receiver::Stays, facts);
    trouble::check(&case, &[], &[], facts);
    for host in HOSTS {
        facts.equal("lost between the taps", case.lost_from(host), Some(0));
    }
    Ok(case)
}

/// Checks that both taps count this many messages from `host`.
fn expect(case: &Case, host: usize, what: &str, kind: Kind, count: u64, facts: &mut Facts) {
    for (tap, place) in case.taps.iter().zip(HOSTS) {
        let found = tap.report.from(&addresses(host)).map(|flow| kind(&flow.messages)).sum::<u64>();
        facts.equal(&format!("{what} from host {host} at host {place}"), found, count);
    }
}
