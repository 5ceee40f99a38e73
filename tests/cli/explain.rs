//! What `explain` prints, also for objects that do not exist.

use serde_json::Value;

use super::{railscope, railscope_on};
use crate::support::recording::Recording;

#[test]
fn errors_list_what_the_report_has() {
    let job = Recording::unpack("split-2.27.5");
    let explain = |arguments: &[&str]| {
        railscope_on(&job, &[&["explain"], arguments].concat()).fails().trim_end().to_owned()
    };
    for (arguments, said) in [
        (
            &["--rank", "9"] as &[&str],
            "error: no communicator has rank 9: f9ca0a48 has ranks 0-3, be9d4fa7 has ranks 0-1, \
             149791b6 has ranks 0-1",
        ),
        (
            &["--rank", "1"],
            "error: several communicators have rank 1: add --communicator with one of f9ca0a48, \
             be9d4fa7, 149791b6",
        ),
        (
            &["--rank", "2", "--communicator", "be9d"],
            "error: no rank 2: communicator be9d4fa7cb014d2d has ranks 0-1",
        ),
        (
            &["--rank", "0", "--communicator", "zz"],
            "error: no communicator zz; this input has f9ca0a48, be9d4fa7, 149791b6",
        ),
        (
            &["--qp", "10.0.0.9/3"],
            "error: no RoCEv2 from or to 10.0.0.9; this input has 10.0.0.1, 10.0.0.2, 10.0.0.3, \
             10.0.0.4",
        ),
        (
            &["--qp", "10.0.0.1/3"],
            "error: no queue pair 0x3 on 10.0.0.1, which has 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, \
             0x8e",
        ),
        (&["--collective", "15"], "error: no collective 15; this input has 0 to 14"),
    ] {
        assert_eq!(explain(arguments), said);
    }
}

#[test]
fn captures_without_nccl_have_no_ranks() {
    let explain = |arguments: &[&str]| {
        let file = ["write_lat.pcap.gz"];
        railscope([&["explain"], arguments, &file].concat())
    };
    let said = explain(&["--rank", "0"]).fails();
    assert_eq!(said, "error: no NCCL communicator in this input, so no ranks\n");
    let said = explain(&["--collective", "0"]).fails();
    assert_eq!(said, "error: no NCCL collective in this input\n");
    let shown = explain(&["--qp", "10.0.0.2/21"]).succeeds();
    assert!(shown.starts_with("queue pair 0x15 (21) of 10.0.0.2\n"), "{shown}");
}

#[test]
fn explain_takes_one_valid_subject() {
    for (arguments, said) in [
        (&["explain", "x.pcap"] as &[&str], "--rank <N>|--qp <ADDRESS/QPN>|--collective <N>"),
        (&["explain", "--rank", "1", "--collective", "1", "x.pcap"], "cannot be used with"),
        (&["explain", "--collective", "1", "--communicator", "a", "x.pcap"], "cannot be used with"),
        (&["explain", "--qp", "0x17", "x.pcap"], "`0x17` is not a queue pair; write the address"),
        (&["explain", "--qp", "10.0.0.1/0x1000000", "x.pcap"], "not a 24-bit queue pair number"),
    ] {
        let complaint = railscope(arguments).fails();
        assert!(complaint.contains(said), "{complaint}");
    }
}

#[test]
fn a_queue_pair_is_found_by_either_notation_and_from_its_far_end() {
    let job = Recording::unpack("split-2.27.5");
    let explain = |qp| railscope_on(&job, &["explain", "--qp", qp]).succeeds();
    let shown = explain("10.0.0.2/0x111");
    assert_eq!(shown, explain("10.0.0.2/273"));
    assert!(shown.contains("connected to 0x87 (135) of 10.0.0.1"), "{shown}");
    let far = explain("10.0.0.1/0x87");
    assert!(far.contains("connected to 0x111 (273) of 10.0.0.2"), "{far}");
    assert!(shown.contains("receives data") && far.contains("sends data"));
}

#[test]
fn json_has_the_same_facts() {
    let job = Recording::unpack("split-2.27.5");
    let explain = |arguments: &[&str]| -> Value {
        let arguments = [&["explain", "--format", "json"], arguments].concat();
        serde_json::from_str(&railscope_on(&job, &arguments).succeeds()).unwrap()
    };
    let rank = explain(&["--rank", "2"]);
    assert_eq!(rank["rank"]["rank"]["pid"], 933);
    assert_eq!(rank["rank"]["sends"][0]["connection"]["receiver"], 3);
    let collective = explain(&["--collective", "3"]);
    assert_eq!(collective["collective"]["collective"]["id"], 3);
    let queue_pair = explain(&["--qp", "10.0.0.2/0x111"]);
    assert_eq!(queue_pair["queue_pair"]["peer_qpn"], 0x87);
}

#[test]
fn a_recovery_seen_by_two_taps_counts_once() {
    let job = Recording::unpack("loss1pct-2.27.5");
    let explain = |format: &str| {
        let arguments = ["explain", "--qp", "10.0.0.3/0x1ae", "--top", "1000", "--format", format];
        railscope_on(&job, &arguments).succeeds()
    };
    let json: Value = serde_json::from_str(&explain("json")).unwrap();
    let (flows, recoveries) = (&json["queue_pair"]["flows"], &json["queue_pair"]["recoveries"]);
    let recoveries = recoveries.as_array().unwrap();
    let of_tap = |one: &Value| one["flow"]["episodes"].as_array().unwrap().len();
    for is_incoming in [true, false] {
        let of_direction = |one: &&Value| one["is_incoming"] == is_incoming;
        let seen: Vec<usize> =
            flows.as_array().unwrap().iter().filter(of_direction).map(of_tap).collect();
        assert!(seen.len() == 2 && seen[0] > 0, "two taps saw recoveries: {seen:?}");
        let listed: Vec<&Value> = recoveries.iter().filter(of_direction).collect();
        assert_eq!(Some(listed.len()), seen.into_iter().max());
        assert!(listed.iter().all(|one| one["tap"] == listed[0]["tap"]), "{listed:?}");
    }
    let text = explain("text");
    let table = text.split("\n\n").find(|table| table.starts_with("RECOVERY")).unwrap();
    assert_eq!(table.lines().count(), 1 + recoveries.len(), "{table}");
}

#[test]
fn findings_are_shown_with_their_subject() {
    let job = Recording::unpack("loss1pct-2.27.5");
    let names = |arguments: &[&str]| -> Vec<String> {
        let arguments = [&["explain", "--format", "json"], arguments].concat();
        let text = railscope_on(&job, &arguments).succeeds();
        let shown: Value = serde_json::from_str(&text).unwrap();
        let findings = shown["findings"].as_array().unwrap().iter();
        let names = findings.map(|finding| {
            let rank = finding["subject"]["rank"].as_u64();
            let rank = rank.map(|rank| format!(" {rank}")).unwrap_or_default();
            format!("{}{rank}", finding["id"].as_str().unwrap())
        });
        names.collect()
    };
    let has = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
    // Packets to rank 2 are lost: rank 1 sends them and makes the others wait.
    for subject in [["--rank", "2"], ["--rank", "1"], ["--qp", "10.0.0.3/0x1ae"]] {
        assert!(has(&names(&subject), "loss 2"), "{subject:?}");
    }
    assert!(has(&names(&["--rank", "1"]), "straggler 1"));
    assert!(!has(&names(&["--rank", "3"]), "straggler 1"));
    assert!(!has(&names(&["--qp", "10.0.0.1/0x86"]), "loss 2"));
    // Only the straggler of this training step, although others were late before and after.
    assert!(has(&names(&["--step", "4"]), "straggler 1"));
    assert!(!has(&names(&["--step", "6"]), "straggler 1"));
    assert!(has(&names(&["--collective", "16"]), "straggler 1"));
    assert!(!has(&names(&["--collective", "17"]), "straggler 1"));
}

#[test]
fn explain_takes_the_options_of_analyze() {
    let job = Recording::unpack("loss1pct-2.27.5");
    let explain =
        |arguments: &[&str]| railscope_on(&job, &[&["explain"], arguments].concat()).succeeds();
    let write = |name: &str, text: &str| std::fs::write(job.folder().join(name), text).unwrap();
    let whole = explain(&["--rank", "2"]);
    assert!(whole.contains("Not-ECT: switches cannot mark it"), "{whole}");
    write("config.toml", "[findings]\nsuppress = [\"roce_not_ect\"]\n");
    let part = explain(&["--rank", "2", "--config", "config.toml"]);
    assert!(!part.contains("Not-ECT") && part.contains("● loss on "), "{part}");
    let sample = |ns: u64, value: u64| {
        format!(
            "{{\"time_ns\":{ns},\"address\":\"10.0.0.3\",\"counters\":{{\"rp_cnp_ignored\":{value}}}}}\n"
        )
    };
    write("nics.jsonl", &(sample(1, 5) + &sample(2, 9)));
    let with_counters = explain(&["--rank", "2", "--counters", "nics.jsonl"]);
    assert!(
        with_counters.contains("10.0.0.3 ignored 4 CNPs")
            && with_counters.contains("nics.jsonl line 2"),
        "{with_counters}"
    );
    let other = explain(&["--rank", "1", "--counters", "nics.jsonl"]);
    assert!(!other.contains("ignored 4 CNPs"), "{other}");
}
