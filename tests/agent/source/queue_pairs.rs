//! The kernel's list of queue pairs: what it needs, and its page. How it is read is in
//! `tests/node/queue_pairs.rs`.

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use serde_json::Value;

use super::host::{ALL, host, needs_each_of};
use super::{verdict, visible};
use crate::support::railscope::PROGRAM;

const SEES: &str = "queue pairs as listed by the kernel";

#[test]
fn queue_pairs_need_only_a_device() {
    needs_each_of(SEES, &[]);
    let without = host(ALL, &[("class/infiniband/mlx5_0", "class/net/eth0")]);
    let expected = format!("{SEES}: yes; there is no RDMA device here now");
    assert_eq!(verdict(SEES, &without).to_string(), expected);
}

#[test]
fn the_page_answers_where_the_list_is_visible() {
    let off = ["sources.packets=false", "sources.calls=false", "sources.counters=false"];
    let agent = Agent::begin(PROGRAM, &off);
    let mut is_visible = None;
    eventually("metrics say whether the list is visible", || {
        is_visible = visible(&agent.get("/metrics").unwrap_or_default(), "queue_pairs", "all");
        is_visible.is_some()
    });
    let (status, body) = agent.answer("/queue_pairs.json").unwrap();
    if is_visible.as_deref() == Some("1") {
        assert_eq!(status, "200", "{body}");
        assert!(serde_json::from_str::<Value>(&body).unwrap().is_array(), "{body}");
        // Without packets, calls and counters.
        assert_eq!(agent.answer("/readyz"), Some(("200".to_owned(), "ok\n".to_owned())));
    } else {
        assert_eq!(status, "503", "{body}");
    }
}
