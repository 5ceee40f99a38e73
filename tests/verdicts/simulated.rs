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

/// What each of these faults costs every training step, against the same job without it.
#[test]
fn costs_say_how_long_a_training_step_would_have_taken() {
    let length = |iteration: &Value| {
        iteration["end_ns"].as_i64().unwrap() - iteration["start_ns"].as_i64().unwrap()
    };
    let usual = report_on("");
    let faults = [
        ("compute", 2, "[[straggler]]\nrank = 2\ndelay = \"5ms\"\ncause = \"compute\"\n"),
        ("receiver", 3, "[[slow_receiver]]\nrank = 3\ndelay = \"900us\"\n"),
    ];
    for (cause, rank, fault) in faults {
        let report = report_on(fault);
        let iterations = report["iterations"].as_array().unwrap();
        assert!(iterations.len() >= 12, "{cause}: {}", iterations.len());
        for one in &iterations[3..11] {
            let at = one["iteration"].as_u64().unwrap() as usize;
            let without_ns = length(&usual["iterations"][at]);
            let costs = one["costs"].as_array().unwrap();
            let cost = costs.iter().find(|cost| cost["cause"] == *cause).unwrap_or(&Value::Null);
            assert_eq!(cost["rank"], rank, "{cause}, training step {at}: {costs:?}");
            let left_ns = length(one) - cost["ns"].as_i64().unwrap();
            let off = (left_ns - without_ns) as f64 / without_ns as f64;
            assert!(off.abs() < 0.3, "{cause}, training step {at}: {off} off, {costs:?}");
            let others = costs.iter().filter(|one| one["ns"].as_i64() > cost["ns"].as_i64());
            assert_eq!(others.count(), 0, "{cause}, training step {at}: {costs:?}");
        }
    }
}

/// A link that loses 0.5 % loses a clear-to-send once: all ranks wait for the timer of its sender.
#[test]
fn a_lost_clear_to_send_costs_what_others_waited_for_it() {
    let job = |fault: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "title = \"an uplink drops packets\"\n[fabric]\nspines = 1\n[[job]]\nib_timeout = 12\n{fault}"
        );
        let job = simulate(folder.path(), &text);
        let captures = (0..4).map(|host| format!("host{host}.pcapng"));
        serde_json::from_str::<Value>(&analyze(&job, captures, &["--format", "json"])).unwrap()
    };
    let with = job("[[loss]]\nport = \"leaf0:uplink0\"\nshare = \"0.5%\"\n");
    let without = job("");
    let length = |report: &Value| {
        let all = report["iterations"].as_array().unwrap();
        let ends =
            |one: &Value| one["end_ns"].as_u64().unwrap() - one["start_ns"].as_u64().unwrap();
        all.iter().map(ends).sum::<u64>()
    };
    let (added_ns, verdict) = (length(&with) - length(&without), &with["verdicts"][0]);
    assert!(added_ns > 10_000_000, "{added_ns}: no clear-to-send was lost");
    assert_eq!(verdict["id"], "loss", "{verdict}");
    let cost_ns = verdict["cost_ns"].as_u64().unwrap();
    assert!(
        added_ns * 9 / 10 <= cost_ns && cost_ns <= added_ns * 11 / 10,
        "{cost_ns} of {added_ns}"
    );
}

/// With two ranks, each waits for the clear-to-sends of the other one.
#[test]
fn a_late_call_counts_once_where_there_are_two_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let job = JOB.replace("hosts = 4", "hosts = 2").replace("\"ahead\"", "\"synchronous\"");
    let fault = "[[straggler]]\nrank = 0\ndelay = \"7ms\"\ncause = \"enqueue\"\n";
    let job = simulate(folder.path(), &format!("{job}\n{fault}"));
    let captures = (0..2).map(|host| format!("host{host}.pcapng"));
    let report: Value =
        serde_json::from_str(&analyze(&job, captures, &["--format", "json"])).unwrap();
    let verdict = &report["verdicts"][0];
    assert_eq!((&verdict["id"], &verdict["subject"]["rank"]), (&"late_rank".into(), &0.into()));
    let iterations = report["iterations"].as_array().unwrap().len() as u64 - 1;
    let each_ns = verdict["cost_ns"].as_u64().unwrap() / iterations;
    assert!((6_000_000..8_500_000).contains(&each_ns), "{each_ns}");
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
