//! Faults in virtual time: which way packets die, and what each cause added to a training step.

use serde_json::Value;

use super::job::{analyze, simulate};

/// Four hosts in a ring, on two leaves.
const JOB: &str = r#"
title = "verdicts"
seed = 11

[fabric]
hosts = 4
hosts_per_leaf = 2

[capture]
pause_frames = false

[[job]]
iterations = 14
ib_timeout = 12
compute = "6ms"
jitter = "100us"
cpu = "ahead"
buckets = ["512KiB", "256KiB"]
"#;

fn report_on(faults: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let job = simulate(folder.path(), &format!("{JOB}\n{faults}"));
    let captures = (0..4).map(|host| format!("host{host}.pcapng"));
    serde_json::from_str(&analyze(&job, captures, &["--format", "json"])).unwrap()
}

/// Class, port, other port and direction of the first verdict.
fn first(faults: &str) -> [String; 4] {
    let report = report_on(faults);
    let verdict = &report["verdicts"][0];
    let subject = &verdict["subject"];
    [&verdict["id"], &subject["port"], &subject["peer_port"], &subject["direction"]]
        .map(|value| value.as_str().unwrap_or_default().to_owned())
}

/// Nothing passes for 200 ms.
fn dead(keys: &str) -> String {
    format!("[[loss]]\n{keys}\nshare = \"100%\"\nfrom = \"100ms\"\nuntil = \"300ms\"\n")
}

#[test]
fn the_direction_in_which_a_port_is_dead_is_told() {
    assert_eq!(first(&dead("port = \"leaf1:host2\"")), ["port_down", "10.0.0.3", "", "towards"]);
    assert_eq!(first(&dead("port = \"host2\"")), ["port_down", "10.0.0.3", "", "from"]);
    let flap = "[[flap]]\nport = \"host2\"\nfrom = \"100ms\"\nuntil = \"300ms\"\n";
    assert_eq!(first(flap), ["port_down", "10.0.0.3", "", "both"]);
}

#[test]
fn a_dead_path_is_no_dead_port() {
    let [id, port, peer, direction] = first(&dead("port = \"host1\"\nto = \"host2\""));
    assert_eq!(id, "path_dead");
    let ends = (port.as_str(), peer.as_str(), direction.as_str());
    assert_eq!(ends, ("10.0.0.3", "10.0.0.2", "towards"));
}

/// The first resends are lost, the second ones arrive: the first ones were sent in the middle of the outage, but for
/// microseconds.
#[test]
fn a_path_that_is_dead_for_two_timers() {
    let job = "title = \"two timers\"\nseed = 6000005\n\n[fabric]\nhosts = 5\nhosts_per_leaf = 2\n\n\
               [capture]\npause_frames = false\n\n[[job]]\niterations = 16\nib_timeout = 17\n\
               compute = \"13619us\"\njitter = \"286us\"\ncpu = \"synchronous\"\n\
               buckets = [\"256KiB\", \"256KiB\", \"128KiB\"]\n\n";
    for from_us in [264_800, 265_000, 265_300] {
        let folder = tempfile::tempdir().unwrap();
        let fault = format!(
            "[[loss]]\nport = \"host4\"\nto = \"host3\"\nshare = \"100%\"\nfrom = \"{from_us}us\"\n\
             until = \"1265ms\"\n"
        );
        let job = simulate(folder.path(), &format!("{job}{fault}"));
        let captures = (0..5).map(|host| format!("host{host}.pcapng"));
        let report: Value =
            serde_json::from_str(&analyze(&job, captures, &["--format", "json"])).unwrap();
        assert_eq!(report["verdicts"][0]["id"], "path_dead", "{from_us}");
    }
}

#[test]
fn lost_acks_are_lost_on_their_own_way() {
    let acks = "[[loss]]\nport = \"leaf0:host1\"\nshare = \"50%\"\nonly = \"acks\"\n";
    assert_eq!(first(acks), ["loss", "10.0.0.2", "", "towards"]);
}

#[test]
fn contributions_add_up_to_the_excess_of_a_training_step() {
    let faults = "[[straggler]]\nrank = 1\ndelay = \"4ms\"\ncause = \"compute\"\n\
                  iterations = [6, 6]\n\
                  [[straggler]]\nrank = 3\ndelay = \"20ms\"\ncause = \"compute\"\n\
                  iterations = [9, 9]\n";
    let report = report_on(faults);
    let iterations = report["iterations"].as_array().unwrap();
    let slow: Vec<&Value> =
        iterations.iter().filter(|iteration| !iteration["excess_ns"].is_null()).collect();
    assert!(!slow.is_empty());
    for iteration in slow {
        let parts = iteration["contributions"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["ns"].as_u64().unwrap()).sum();
        let remainder = iteration["remainder_ns"].as_u64().unwrap();
        assert_eq!(sum + remainder, iteration["excess_ns"].as_u64().unwrap(), "{iteration}");
    }
    let long = iterations
        .iter()
        .find(|iteration| iteration["excess_ns"].as_u64() > Some(10_000_000))
        .unwrap();
    assert_eq!(long["contributions"][0]["rank"], 3, "{long}");
}

#[test]
fn heavy_loss_for_a_while_is_loss_and_no_dead_queue_pair() {
    let burst =
        "[[loss]]\nport = \"leaf1:host2\"\nshare = \"35%\"\nfrom = \"100ms\"\nuntil = \"300ms\"\n";
    assert_eq!(first(burst), ["loss", "10.0.0.3", "", "towards"]);
}

/// The report on a job of two channels whose start was not captured, so that channels are not known.
fn report_from_within(hosts: u32, buckets: &str, fault: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let scenario = JOB
        .replace("hosts = 4", &format!("hosts = {hosts}"))
        .replace("\"512KiB\", \"256KiB\"", buckets);
    let job = simulate(folder.path(), &format!("{scenario}\n{fault}"));
    let captures = (0..hosts).map(|host| format!("host{host}.pcapng"));
    let options = ["--format", "json", "--since", "55ms"];
    let report: Value = serde_json::from_str(&analyze(&job, captures, &options)).unwrap();
    let channels = report["communicators"][0]["channels"].as_array().unwrap();
    assert!(channels.iter().all(|one| one["channel"].is_null()), "{channels:?}");
    report
}

/// The ranks before it are held up and offer room as late.
#[test]
fn a_slow_receiver_is_named_where_channels_are_unknown() {
    for rank in [1, 5] {
        let fault = format!("[[slow_receiver]]\nrank = {rank}\ndelay = \"700us\"\n");
        let report = report_from_within(8, "\"1MiB\"", &fault);
        let verdict = &report["verdicts"][0];
        assert_eq!(verdict["id"], "slow_receiver", "{verdict}");
        assert_eq!(verdict["subject"]["rank"], rank);
    }
}

/// What a lost ACK costs is the time in which its sender takes no data.
#[test]
fn lost_acks_cost_what_they_hold_up_where_channels_are_unknown() {
    let of_faults = |faults| report_from_within(4, "\"512KiB\"", faults);
    let length = |report: &Value| {
        let spans = report["collectives"].as_array().unwrap().iter();
        let time = |one: &Value, key: &str| one[key].as_u64().unwrap();
        spans.map(|one| time(one, "end_ns") - time(one, "start_ns")).sum::<u64>()
    };
    let lost = "[[loss]]\nport = \"leaf1:host2\"\nshare = \"40%\"\nonly = \"acks\"\n";
    let (with, without) = (of_faults(lost), of_faults(""));
    let verdict = &with["verdicts"][0];
    assert_eq!(verdict["id"], "loss", "{verdict}");
    let cost_ns = verdict["cost_ns"].as_u64().unwrap();
    let added_ns = length(&with) - length(&without);
    assert!(added_ns / 2 <= cost_ns && cost_ns <= added_ns * 5 / 4, "{cost_ns} of {added_ns}");
}
