//! Goldens: the text output on the fixtures, character by character.

use crate::cli::{railscope, railscope_on};
use crate::support::recording::Recording;

/// Lines of `packets` in a golden.
const PACKET_LINES: usize = 40;

/// Longest line of a report: two windows fit side by side.
const LINE_WIDTH: usize = 100;

fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Checks the output of `analyze` with these arguments.
pub fn check_report(name: &str, files: &[&str]) {
    let text = railscope(["analyze"].iter().chain(files)).succeeds();
    check_text(name, &text);
}

fn check_text(name: &str, text: &str) {
    for line in text.lines() {
        let width = line.chars().count();
        assert!(width <= LINE_WIDTH, "{name}: {width} columns: {line}");
    }
    check(&format!("{name}.text"), text);
}

fn check_packets(name: &str) {
    let text = railscope(["packets", &format!("{name}.pcap.gz")]).succeeds();
    let lines: Vec<&str> = text.lines().take(PACKET_LINES).collect();
    check(&format!("{name}.packets"), &lines.join("\n"));
}

#[test]
fn reports() {
    for name in [
        "ecn_netem_write_bw_post",
        "ipv6_write_bw",
        "loss1_send_bw_post",
        "rdmacm_rping",
        "reorder_write_bw_post",
        "rnr_send_bw",
    ] {
        check_report(name, &[&format!("{name}.pcap.gz")]);
    }
}

#[test]
fn four_taps_of_one_fabric() {
    let files = ["A", "B", "C", "D"].map(|port| format!("ring4_allreduce_p{port}.pcap.gz"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    check_report("ring4_allreduce", &files);
    let bursts = [["--line-rate", "800M"].as_slice(), &files].concat();
    check_report("ring4_allreduce_800M", &bursts);
}

#[test]
fn a_job_by_its_control_plane_alone() {
    check_report("nccl_control_plane", &["tcp/nccl_2.27.5.pcap.gz"]);
}

#[test]
fn jobs() {
    for run in ["alltoall-2.27.5", "midjob-2.27.5", "rails-2n2g2nic-2.27.5", "split-2.27.5"] {
        let job = Recording::unpack(run);
        check_text(run, &railscope_on(&job, &["analyze"]).succeeds());
    }
}

#[test]
fn one_thing_of_a_job() {
    let job = Recording::unpack("loss1pct-2.27.5");
    for (what, value) in [("rank", "2"), ("qp", "10.0.0.3/0x1ae"), ("collective", "28")] {
        let text = railscope_on(&job, &["explain", &format!("--{what}"), value]).succeeds();
        check_text(&format!("explain_{what}"), &text);
    }
}

#[test]
fn training_steps() {
    let job = Recording::unpack("async-straggler-2.27.5");
    check_text("async-straggler-2.27.5", &railscope_on(&job, &["analyze"]).succeeds());
    let text = railscope_on(&job, &["explain", "--step", "7"]).succeeds();
    check_text("explain_step", &text);
}

#[test]
fn packets() {
    check_packets("rdmacm_rping");
    check_packets("reorder_write_bw_post");
}
