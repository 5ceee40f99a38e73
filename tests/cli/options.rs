//! Invalid values: the message names the value and what to use instead.

use super::railscope;

#[test]
fn wrong_values_are_named_with_the_way_out() {
    for (option, value, way_out) in [
        ("--format", "xml", "[possible values: text, html, json, perfetto, prometheus"),
        ("--detail", "all", "[possible values: summary, full]"),
        ("--color", "blue", "[possible values: auto, always, never]"),
        ("--top", "0", "1.."),
        ("--top", "many", "invalid digit"),
        ("--max-flows", "0", "1.."),
        ("--since", "soon", "write 1.5s, 200ms, 3min, or 2026-11-20T16:30:00Z"),
        ("--until", "-5s", "write 1.5s, 200ms, 3min, or 2026-11-20T16:30:00Z"),
        ("--line-rate", "fast", "write 100G, 400G or 25Gb/s"),
        ("--line-rate", "100", "between 1 Mb/s and 100 Tb/s"),
        ("--host", "spine-1", "invalid IP address"),
        ("--qpn", "0x1000000", "write 23 or 0x17"),
        ("--opcode", "RDMA_WRITE", "RDMA_WRITE_FIRST"),
        ("--opcode", "0x1ff", "does not fit into an opcode's 8 bits"),
    ] {
        let said = railscope(["analyze", &format!("{option}={value}"), "x.pcap"]).fails();
        assert!(said.contains(&format!("'{value}'")), "{option} {value}: {said}");
        assert!(said.contains(way_out), "{option} {value}: {said}");
    }
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    let said = railscope(["packets"]).fails();
    assert!(said.contains("<FILE>..."), "{said}");
    let said = railscope(["analyse", "x.pcap"]).fails();
    assert!(said.contains("'analyze'"), "{said}");
    let said = railscope(["analyze", "--lin-rate", "1G", "x.pcap"]).fails();
    assert!(said.contains("'--line-rate'"), "{said}");
}

#[test]
fn a_line_rate_gives_bursts() {
    let arguments = ["analyze", "--format", "json", "--line-rate", "400G", "write_lat.pcap.gz"];
    let report: serde_json::Value = serde_json::from_str(&railscope(arguments).succeeds()).unwrap();
    let widths: Vec<_> =
        report["bursts"].as_array().unwrap().iter().map(|width| &width["bucket_ns"]).collect();
    assert_eq!(widths, [100_000, 1_000_000]);
    assert_eq!(report["ports"][0]["line_rate_bps"], 400_000_000_000_u64);
    assert_eq!(report["ports"][0]["line_rate_source"], "option");
    let text = railscope(["analyze", "--line-rate", "400G", "write_lat.pcap.gz"]).succeeds();
    assert!(text.contains("no bursts: never above 50 % of the line rate for 100 us"), "{text}");
    assert!(!text.contains("need the line rate"), "{text}");
}
