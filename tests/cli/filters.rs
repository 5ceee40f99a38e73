//! Display filters and time ranges.

use super::{analyze, railscope};

const PINGPONG: &str = "rc_pingpong.pcap.gz";
const RING: &str = "ring4_allreduce_pA.pcap.gz";

/// `<src> <dst> <dest_qpn>` of each flow in the JSON report.
fn flows(arguments: &[&str]) -> Vec<String> {
    let report = analyze(arguments);
    let name = |flow: &serde_json::Value| {
        let word = |key: &str| flow[key].as_str().unwrap().to_owned();
        format!("{} {} {:#x}", word("src"), word("dst"), flow["dest_qpn"].as_u64().unwrap())
    };
    report["flows"].as_array().unwrap().iter().map(name).collect()
}

/// Rows of the flow table that begin with an address.
fn rows(arguments: &[&str]) -> Vec<String> {
    let text = railscope(["analyze"].iter().chain(arguments)).succeeds();
    let rows = text.lines().filter(|line| line.starts_with("10.") && line.contains('→'));
    rows.map(|row| row.split("  ").take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn by_host() {
    let all = flows(&[RING]);
    let shown = flows(&["--host", "10.0.0.4", RING]);
    assert!(!shown.is_empty() && shown.len() < all.len());
    assert!(shown.iter().all(|flow| flow.contains("10.0.0.4")), "{shown:?}");
    assert_eq!(flows(&["--host", "10.0.0.4", "--host", "10.0.0.2", RING]), all);
    for row in rows(&["--host", "10.0.0.4", RING]) {
        assert!(row.contains("10.0.0.4"), "{row}");
    }
    let lines = railscope(["packets", "--host", "10.0.0.4", RING]).succeeds();
    assert!(lines.lines().count() > 1000);
    assert!(lines.lines().all(|line| line.contains("10.0.0.4")));
}

#[test]
fn by_queue_pair() {
    let shown = flows(&["--qpn", "0x1c", "rdmacm_rping.pcap.gz"]);
    assert_eq!(shown, ["10.0.0.1 10.0.0.2 0x1c", "10.0.0.2 10.0.0.1 0x1c"]);
    assert_eq!(flows(&["--qpn", "28", "rdmacm_rping.pcap.gz"]), shown);
    assert_eq!(rows(&["--qpn", "0x1c", "rdmacm_rping.pcap.gz"]).len(), 2);
    let lines = railscope(["packets", "--qpn", "1", "rdmacm_rping.pcap.gz"]).succeeds();
    assert!(lines.lines().all(|line| line.contains(" qp 0x1 ")), "{lines}");
    assert_eq!(lines.lines().count(), 5);
}

#[test]
fn by_opcode() {
    let reads = ["--opcode", "rdma_read_request", "rdmacm_rping.pcap.gz"];
    assert_eq!(flows(&reads), ["10.0.0.2 10.0.0.1 0x1c"]);
    let read_lines = railscope(["packets"].iter().chain(&reads)).succeeds();
    assert!(read_lines.lines().all(|line| line.contains(" RDMA_READ_REQUEST ")));
    // An opcode can be given by number.
    let by_number = ["packets", "--opcode", "0x0c", "rdmacm_rping.pcap.gz"];
    assert_eq!(railscope(by_number).succeeds(), read_lines);
}

#[test]
fn filters_combine_and_do_not_change_the_counts() {
    let none = railscope(["analyze", "--host", "10.0.0.1", "--qpn", "99", PINGPONG]).warns();
    assert!(none.contains("\nfiltered: --host 10.0.0.1 --qpn 0x63\n"), "{none}");
    assert!(none.contains("No flow matches the filters."), "{none}");
    assert!(!none.contains("No problem found"), "{none}");
    let report = analyze(&["--qpn", "99", PINGPONG]);
    assert_eq!(report["flows"].as_array().unwrap().len(), 0);
    assert_eq!(report["capture"]["frames"], 2000);
    assert_eq!(report["tool"]["options"]["qpn"], "99");
}

/// The warning that the program prints when nothing matches.
fn warning(arguments: &[&str]) -> String {
    let run = railscope(arguments);
    let said = run.stderr.clone();
    run.warns();
    said
}

#[test]
fn filters_that_match_nothing_say_what_there_is() {
    let packets = |filter: &[&str]| {
        let arguments = [&["packets"], filter, &[PINGPONG]].concat();
        assert_eq!(railscope(&arguments).warns(), "");
        warning(&arguments)
    };
    assert_eq!(
        packets(&["--host", "10.9.9.9"]),
        "warning: no packets match --host 10.9.9.9; the input has the addresses 10.0.0.1, 10.0.0.2\n"
    );
    assert_eq!(
        packets(&["--opcode", "CNP", "--host", "10.0.0.1"]),
        "warning: no packets match --opcode CNP; the input has the opcodes ACKNOWLEDGE, SEND_ONLY\n"
    );
    let several = packets(&["--qpn", "99", "--qpn", "98", "--opcode", "0x81"]);
    assert!(several.starts_with(
        "warning: no packets match --qpn 0x63, 0x62; the input has the queue pair numbers 0x"
    ));
    assert!(several.contains("; --opcode CNP; the input has the opcodes "), "{several}");
    let flows = warning(&["analyze", "--host", "10.9.9.9", "--format", "json", PINGPONG]);
    assert_eq!(flows, packets(&["--host", "10.9.9.9"]).replace("packets", "flows"));

    let apart = packets(&["--host", "10.0.0.1", "--opcode", "CNP"]);
    assert!(apart.contains("--opcode CNP"), "{apart}");
    let ring = ["packets", "--opcode", "CNP", "ring4_allreduce_pA.pcap.gz"];
    let many = warning(&ring);
    assert!(many.contains("the input has the opcodes "), "{many}");
    // No warning if something matches, or if the capture has no packets at all.
    assert_eq!(warning(&["packets", "--host", "10.0.0.1", PINGPONG]), "");
    let outside = warning(&["packets", "--since", "100s", "--host", "10.9.9.9", PINGPONG]);
    assert!(outside.contains("--since") && !outside.contains("match"), "{outside}");
}

#[test]
fn filters_that_match_only_apart_say_so() {
    let all = railscope(["packets", "rdmacm_rping.pcap.gz"]).succeeds();
    let line = |part: &str| all.lines().any(|line| line.contains(part));
    assert!(line(" RDMA_READ_REQUEST ") && line(" qp 0x1 "));
    let filters =
        ["packets", "--opcode", "RDMA_READ_REQUEST", "--qpn", "1", "rdmacm_rping.pcap.gz"];
    assert_eq!(
        warning(&filters),
        "warning: no packets match --qpn and --opcode together; each option alone matches some\n"
    );
}

#[test]
fn a_wrong_opcode_gets_a_suggestion() {
    let fails = |opcode: &str| railscope(["packets", "--opcode", opcode, PINGPONG]).fails();
    let nak = fails("nak");
    assert!(
        nak.contains("NAK is an AETH syndrome, not an opcode: use --opcode ACKNOWLEDGE"),
        "{nak}"
    );
    assert!(fails("RNR_NAK").contains("grep 'RNR NAK'"));
    let close = fails("READ");
    assert!(close.contains("did you mean RDMA_READ_REQUEST, RDMA_READ_RESPONSE_FIRST"), "{close}");
    let slip = fails("SEND_FRIST");
    assert!(slip.contains("did you mean ") && slip.contains("SEND_FIRST"), "{slip}");
    assert!(!slip.contains("RESYNC"), "{slip}");
    assert!(fails("nonsense").contains("write one of ACKNOWLEDGE, "));
}

#[test]
fn times_after_the_start_and_dates_mean_the_same() {
    let whole = railscope(["packets", PINGPONG]).succeeds();
    let part = railscope(["packets", "--since", "0.5s", "--until", "1s", PINGPONG]).succeeds();
    assert!(!part.is_empty() && whole.contains(&part), "a subset with the same times and numbers");
    let seconds = |line: &str| line.split_whitespace().nth(2).unwrap().parse::<f64>().unwrap();
    assert!(part.lines().map(seconds).all(|time| (0.5..=1.0).contains(&time)));

    let report = analyze(&[PINGPONG]);
    let origin: i128 = report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    let date = |after_ns: i128| jiff::Timestamp::from_nanosecond(origin + after_ns).unwrap();
    let (since, until) = (date(500_000_000).to_string(), date(1_000_000_000).to_string());
    let dated = railscope(["packets", "--since", &since, "--until", &until, PINGPONG]).succeeds();
    assert_eq!(dated, part);

    let report = analyze(&["--since", "500ms", "--until", "1s", PINGPONG]);
    assert_eq!(report["capture"]["frames"], part.lines().count());
    assert_eq!(report["capture"]["origin_ns"], origin.to_string(), "times have the same origin");
    assert!(report["capture"]["duration_ns"].as_u64().unwrap() <= 500_000_000);
    assert!(report["flows"][0]["first_ns"].as_u64().unwrap() >= 500_000_000);
    assert_eq!(report["health"]["capture.skipped_frames"], 2000 - part.lines().count());
    assert_eq!(report["tool"]["options"]["since"], "0.5s");
}

#[test]
fn a_range_outside_the_capture_is_reported() {
    for range in [
        ["--since", "100s"],
        ["--until", "2001-01-01T00:00:00Z"],
        ["--since", "2100-01-01T00:00:00+02:00"],
    ] {
        let run = railscope(["analyze"].iter().chain(&range).chain([&PINGPONG]));
        let start = "warning: no frame is between --since and --until: the input covers 20";
        assert!(run.stderr.starts_with(start), "{}", run.stderr);
        let text = run.warns();
        assert!(text.contains(&format!("\n{PINGPONG}  0 frames, 0 B in 0 ns\n")), "{text}");
        assert!(text.starts_with("● No frame between --since and --until.\n"), "{text}");
        assert!(text.contains("2,000 frames excluded by --since and --until"), "{text}");
        assert!(!text.contains("No RoCEv2"), "{text}");
    }
    let report = analyze(&["--since", "100s", PINGPONG]);
    assert_eq!(report["capture"]["frames"], 0);
    assert_eq!(report["flows"].as_array().unwrap().len(), 0);
    assert_eq!(railscope(["packets", "--since", "100s", PINGPONG]).warns(), "");
}

#[test]
fn rows_of_each_table() {
    let top = |rows: &str| railscope(["analyze", "--top", rows, RING]).succeeds();
    let one = top("1");
    assert_eq!(
        one.lines().filter(|line| line.contains(" → ") && line.contains("WRITE")).count(),
        1
    );
    assert!(one.contains("and 1 more: --top 2"), "{one}");
    assert!(!top("99").contains(" more: --top"));
}
