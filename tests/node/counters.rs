//! NIC counters, from each vendor's sysfs tree to the report.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use railscope::ingest::counter::{CounterConfig, CounterSource};
use railscope_core::decode::counter::reading::Reading;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::counter::CounterSample;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;
use serde_json::{Value, json};

use crate::support::tree::{Statistics, Tree, fixture};

const FIRST: Timestamp = Timestamp::from_nanos(1_795_190_840_000_000_000);

fn source(tree: &Tree, excluded: &[&str], interval_ms: u64) -> CounterSource<Statistics> {
    source_at(tree.root(), tree.statistics.clone(), excluded, interval_ms)
}

fn source_at(
    sysfs: &Path,
    statistics: Statistics,
    excluded: &[&str],
    interval_ms: u64,
) -> CounterSource<Statistics> {
    let config = CounterConfig {
        sysfs: sysfs.to_owned(),
        host: "host7".to_owned(),
        interval: Duration::from_millis(interval_ms),
        excluded: excluded.iter().map(|one| glob::Pattern::new(one).unwrap()).collect(),
        wants: |driver, name| Reading::from_name(driver, name).is_some(),
    };
    CounterSource::new(config, statistics)
}

fn pipeline() -> Pipeline {
    let flow = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
    Pipeline::new(PipelineConfig { flow, message_capacity: None })
}

/// Reads `source` into the pipeline at these milliseconds; returns the number of samples at each.
fn read(
    source: &mut CounterSource<Statistics>,
    pipeline: &mut Pipeline,
    at_ms: &[u64],
) -> Vec<usize> {
    let file = pipeline.add_counters("sysfs");
    let mut number = 0;
    let mut at_once = |at_ms: u64| {
        let before = number;
        let mut clock = || FIRST.plus_nanos(at_ms * 1_000_000);
        let mut deliver = |sample: &CounterSample<'_>| {
            number += 1;
            pipeline.handle_counter_sample(file, number, sample);
        };
        source.read(&mut clock, &mut deliver).unwrap();
        usize::try_from(number - before).unwrap()
    };
    at_ms.iter().map(|at| at_once(*at)).collect()
}

/// The report on the vendor's only NIC, with every counter doubled.
fn report(vendor: &str) -> Value {
    let text = fixture("sysfs", vendor);
    let tree = Tree::new([text.as_str()]);
    let mut source = source(&tree, &[], 1000);
    let mut pipeline = pipeline();
    let file = pipeline.add_counters("sysfs");
    let mut samples = Vec::new();
    for at in 0..2 {
        let mut clock = || FIRST.plus_nanos(at * 1_000_000_000);
        let mut deliver = |sample: &CounterSample<'_>| {
            let mut later = sample.clone();
            later.values.iter_mut().for_each(|(_, value)| *value *= at + 1);
            pipeline.handle_counter_sample(file, at + 1, &later);
            samples.push(sample.values.len());
        };
        source.read(&mut clock, &mut deliver).unwrap();
    }
    assert_eq!(samples.len(), 2, "{vendor}");
    let report = pipeline.finish(ReportContext::default());
    let report = serde_json::to_value(report).unwrap();
    assert_eq!(report["counters"].as_array().unwrap().len(), 1, "{vendor}");
    report["counters"][0].clone()
}

/// Each measure with its raw counters, and the factor of the unit unless it is 1.
fn measures(nic: &Value) -> Vec<String> {
    let mut names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, counter) in nic["counters"].as_object().unwrap() {
        if counter["is_counted"] != true {
            continue;
        }
        let measure = counter["measure"].as_str().unwrap();
        let priority = counter["priority"].as_u64().map(|priority| format!(" {priority}"));
        let scale =
            counter["delta"].as_u64().unwrap() / (counter["last_value"].as_u64().unwrap() / 2);
        let scale = if scale == 1 { String::new() } else { format!(" x{scale}") };
        let measure = format!("{measure}{}{scale}", priority.unwrap_or_default());
        names.entry(measure).or_default().push(name);
    }
    names.iter().map(|(measure, names)| format!("{measure}: {}", names.join(" + "))).collect()
}

#[track_caller]
fn check(vendor: &str, expected: &[&str]) -> Value {
    let nic = report(vendor);
    assert_eq!(measures(&nic), expected, "{vendor}");
    nic
}

#[test]
fn mlx5() {
    let nic = check(
        "mlx5.tree",
        &[
            "ack_timeouts: local_ack_timeout_err",
            "ce_packets_received: np_ecn_marked_roce_packets",
            "cnp_handled: rp_cnp_handled",
            "cnp_ignored: rp_cnp_ignored",
            "cnp_sent: np_cnp_sent",
            "corrected_bits: rx_corrected_bits_phy",
            "discards: rx_discards_phy",
            "duplicate_requests: duplicate_request",
            "icrc_errors: rx_icrc_encapsulated",
            "implied_naks: implied_nak_seq_err",
            "link_down: link_down_events_phy",
            "out_of_buffer: out_of_buffer",
            "out_of_sequence: out_of_sequence",
            "pause_received 0: rx_prio0_pause",
            "pause_received 3: rx_prio3_pause",
            "pause_received_ns 3 x1000: rx_prio3_pause_duration",
            "pause_sent 3: tx_prio3_pause",
            "pause_sent_ns 3 x1000: tx_prio3_pause_duration",
            "pause_storm_errors: tx_pause_storm_error_events",
            "pause_storm_warnings: tx_pause_storm_warning_events",
            "pcie_stalls: outbound_pci_stalled_rd_events + outbound_pci_stalled_wr_events",
            "rdma_received_bytes: rx_vport_rdma_unicast_bytes",
            "rdma_received_packets: rx_vport_rdma_unicast_packets",
            "rdma_sent_bytes: tx_vport_rdma_unicast_bytes",
            "rdma_sent_packets: tx_vport_rdma_unicast_packets",
            "rnr_naks_received: rnr_nak_retry_err",
            "sequence_naks_received: packet_seq_err",
            "symbol_errors: rx_pcs_symbol_err_phy",
        ],
    );
    let value = |key: &str| nic[key].clone();
    assert_eq!(value("device"), "mlx5_0");
    assert_eq!(value("netdev"), "ens1np0");
    assert_eq!(value("driver"), "mlx5_core");
    assert_eq!(value("host"), "host7");
    assert_eq!(value("port"), 1);
    assert_eq!(value("addresses"), json!(["10.0.0.1", "fe80::e42:a1ff:fe73:8dbe"]));
    assert_eq!(
        (value("link_state"), value("rate_bps")),
        (json!("active"), json!(400_000_000_000_u64))
    );
    // Counts the same bytes as another counter, in other units.
    let words = &nic["counters"]["port_rcv_data"];
    assert_eq!(
        (&words["measure"], &words["is_counted"]),
        (&json!("rdma_received_bytes"), &json!(false))
    );
    assert_eq!(words["delta"], words["last_value"].as_u64().unwrap() / 2 * 4);
    // Unknown raw names are kept, except those of the interface.
    assert!(nic["counters"]["roce_slow_restart"].is_object());
    assert!(nic["counters"]["rx0_packets"].is_null());
    // No performance management agent: absent, not 0.
    assert!(nic["counters"]["VL15_dropped"].is_null());
}

#[test]
fn broadcom() {
    let nic = check(
        "bnxt.tree",
        &[
            "ack_timeouts: to_retransmits",
            "ce_packets_received: rx_ecn_marked_pkts",
            "cnp_handled: rx_cnp_pkts",
            "cnp_sent: tx_cnp_pkts",
            "corrected_bits: rx_corrected_bits",
            "discards: rx_roce_discards",
            "duplicate_requests: dup_req",
            "implied_naks: missing_resp",
            "link_down: link_down_events",
            "out_of_buffer: rx_out_of_buffer",
            "out_of_sequence: oos_drop_count",
            "pause_received 3: rx_pfc_ena_frames_pri3",
            "pause_received_ns 3 x1000: pfc_pri3_rx_duration_us",
            "pause_sent 3: tx_pfc_ena_frames_pri3",
            "pause_sent_ns 3 x1000: pfc_pri3_tx_duration_us",
            "rdma_received_bytes: rx_roce_only_bytes",
            "rdma_received_packets: rx_roce_only_pkts",
            "rdma_sent_bytes: tx_roce_only_bytes",
            "rdma_sent_packets: tx_roce_only_pkts",
            "rnr_naks_received: rnr_naks_rcvd",
            "sequence_naks_received: seq_err_naks_rcvd",
            "symbol_errors: rx_pcs_symbol_err",
        ],
    );
    // The interface also has `rx_bytes`, which is not the RDMA device's.
    assert_eq!(nic["counters"]["rx_bytes"]["last_value"], 2 * 9000);
}

#[test]
fn pensando() {
    let nic = check(
        "ionic.tree",
        &[
            "ack_timeouts: tx_rdma_ack_timeout",
            "ce_packets_received: rx_rdma_ecn_pkts",
            "cnp_handled: rx_rdma_cnp_pkts",
            "cnp_sent: tx_rdma_cnp_pkts",
            "discards: frames_rx_dropped",
            "duplicate_requests: resp_rx_dup_request",
            "implied_naks: req_rx_impl_nak_seq_err",
            "out_of_buffer: resp_rx_outof_buf",
            "out_of_sequence: resp_rx_outouf_seq",
            "pause_received: frames_rx_pripause",
            "pause_received_ns 3 x1000: rx_pripause_3_1us_count",
            "pause_sent: frames_tx_pripause",
            "pause_sent_ns 3 x1000: tx_pripause_3_1us_count",
            "rdma_received_bytes: rx_rdma_ucast_bytes",
            "rdma_received_packets: rx_rdma_ucast_pkts",
            "rdma_sent_bytes: tx_rdma_ucast_bytes",
            "rdma_sent_packets: tx_rdma_ucast_pkts",
            "retransmitted_bytes: tx_rdma_retx_bytes",
            "retransmitted_packets: tx_rdma_retx_pkts",
            "rnr_naks_received: req_rx_rnr_retry_err",
            "sequence_naks_received: req_rx_pkt_seq_err",
        ],
    );
    // The driver shows the largest number for what it could not get from the device.
    assert!(nic["counters"]["resp_tx_loc_sgl_inv_err"].is_null());
}

#[test]
fn intel() {
    let nic = check(
        "irdma.tree",
        &[
            "ack_timeouts: RTO",
            "ce_packets_received: RxECNMrkd",
            "cnp_handled: cnpHandled",
            "cnp_ignored: cnpIgnored",
            "cnp_sent: cnpSent",
            "discards: ip4InDiscards + ip6InDiscards",
            "icrc_errors: CRC errors",
            "implied_naks: Nak Sequence Error Implied",
            "out_of_sequence: Rcvd Out of order packets",
            "pause_received 3: rx_priority_3_xoff.nic",
            "pause_sent 3: tx_priority_3_xoff.nic",
            "rdma_received_bytes: ip4InOctets + ip6InOctets",
            "rdma_received_packets: ip4InPkts + ip6InPkts",
            "rdma_sent_bytes: ip4OutOctets + ip6OutOctets",
            "rdma_sent_packets: ip4OutPkts + ip6OutPkts",
            "rnr_naks_received: RNR received",
            "sequence_naks_received: Nak Sequence Error",
        ],
    );
    assert_eq!(nic["rate_bps"], 200_000_000_000_u64);
}

#[test]
fn amazon() {
    let nic = check(
        "efa.tree",
        &[
            "ack_timeouts: retrans_timeout_events",
            "discards: rx_drops",
            "rdma_received_bytes: rx_bytes",
            "rdma_received_packets: rx_pkts",
            "rdma_sent_bytes: tx_bytes",
            "rdma_sent_packets: tx_pkts",
            "retransmitted_bytes: retrans_bytes",
            "retransmitted_packets: retrans_pkts",
        ],
    );
    // Its GID is not an IP address, it has no interface, and its driver always reports it active.
    assert_eq!(nic["addresses"], json!([]));
    assert_eq!((&nic["netdev"], &nic["link_state"]), (&Value::Null, &Value::Null));
}

#[test]
fn soft_roce() {
    let nic = check(
        "rxe.tree",
        &[
            "duplicate_requests: duplicate_request",
            "link_down: link_downed",
            "out_of_sequence: out_of_seq_request",
            "rdma_received_packets: rcvd_pkts",
            "rdma_sent_packets: sent_pkts",
            "rnr_naks_received: rcvd_rnr_err",
            "sequence_naks_received: rcvd_seq_err",
        ],
    );
    assert_eq!((&nic["driver"], &nic["netdev"]), (&Value::Null, &json!("eth0")));
    assert_eq!(nic["rate_bps"], 2_500_000_000_u64);
}

#[test]
fn a_device_is_never_read_faster_than_its_values_change() {
    let text = fixture("sysfs", "mlx5.tree");
    let tree = Tree::new([text.as_str()]);
    let mut often = source(&tree, &[], 1);
    let mut pipeline = pipeline();
    assert_eq!(read(&mut often, &mut pipeline, &[0, 1, 9, 10, 11, 20]), [1, 0, 0, 1, 0, 1]);
    let now = FIRST.plus_nanos(21_000_000);
    assert_eq!(often.next_due(now), FIRST.plus_nanos(30_000_000));
    let note =
        "mlx5_0 port 1 updates its counters every 10 ms; it is read that often, not every 1 ms";
    let all = "counters of whole ports, not of flows: mlx5_0 port 1";
    assert_eq!(often.completeness(), [all, note]);
    // A clock set back by an hour does not stop the reading.
    let mut clock = || Timestamp::from_nanos(FIRST.as_nanos() - 3_600_000_000_000);
    let mut samples = 0;
    often.read(&mut clock, &mut |_| samples += 1).unwrap();
    assert_eq!(samples, 1);
}

/// A bond has no counters: each member is reported with the bond's addresses.
#[test]
fn members_of_a_bond_are_reported_with_its_addresses() {
    let text = fixture("sysfs", "mlx5.tree").replace("ens1np0", "bond0");
    let bond = "class/net/bond0/bonding/slaves = ens1f0np0 ens1f1np1\n\
                ethtool ens1f0np0: rx_prio3_pause = 5\nethtool ens1f1np1: rx_prio3_pause = 70\n";
    let tree = Tree::new([text.as_str(), bond]);
    let mut source = source(&tree, &[], 1000);
    let mut pauses = Vec::new();
    let mut keep = |sample: &CounterSample<'_>| {
        let pause = sample.values.iter().find(|(name, _)| name == "rx_prio3_pause");
        let netdev = sample.place.netdev.as_deref().unwrap().to_owned();
        pauses.push((netdev, pause.map(|(_, value)| *value)));
        assert_eq!(sample.addresses.len(), 2);
    };
    source.read(&mut || FIRST, &mut keep).unwrap();
    let member = |netdev: &str, pause| (netdev.to_owned(), pause);
    let expected =
        [member("bond0", None), member("ens1f0np0", Some(5)), member("ens1f1np1", Some(70))];
    assert_eq!(pauses, expected);
}

/// With a window, memory is bounded, and the growth since the start is kept.
#[test]
fn a_window_drops_old_samples_but_keeps_sums() {
    let text = fixture("sysfs", "rxe.tree");
    let tree = Tree::new([text.as_str()]);
    let mut source = source(&tree, &[], 1000);
    let (mut all, mut windowed) = (pipeline(), pipeline());
    let files = [all.add_counters("sysfs"), windowed.add_counters("sysfs")];
    let context = || ReportContext {
        detail: railscope_core::report::Detail::Full,
        ..ReportContext::default()
    };
    for at in 0..100_u64 {
        let mut clock = || FIRST.plus_nanos(at * 1_000_000_000);
        let mut deliver = |sample: &CounterSample<'_>| {
            let mut later = sample.clone();
            later.values.iter_mut().for_each(|(_, value)| *value += at * 7);
            all.handle_counter_sample(files[0], at + 1, &later);
            windowed.handle_counter_sample(files[1], at + 1, &later);
        };
        source.read(&mut clock, &mut deliver).unwrap();
        let understanding = windowed.clone().understand();
        windowed.slide(10_000_000_000, &understanding);
    }
    let sums = |pipeline: &Pipeline| {
        let report = serde_json::to_value(pipeline.report(context())).unwrap();
        let nic = report["counters"][0].clone();
        let counter = &nic["counters"]["sent_pkts"];
        (
            nic["samples"].clone(),
            counter["delta"].clone(),
            counter["rises"].as_array().unwrap().len(),
        )
    };
    assert_eq!(sums(&all), (json!(100), json!(99 * 7), 99));
    assert_eq!(sums(&windowed), (json!(100), json!(99 * 7), 10));
}

#[test]
fn devices_come_and_go() {
    let texts = ["mlx5.tree", "bnxt.tree", "efa.tree"].map(|name| fixture("sysfs", name));
    let tree = Tree::new(texts.iter().map(String::as_str));
    let mut some = source(&tree, &["bnxt_re*", "rdmap0s[6]"], 1000);
    let mut pipeline = pipeline();
    read(&mut some, &mut pipeline, &[0]);
    let devices = |source: &CounterSource<_>| {
        source.ports().map(|port| port.device.clone()).collect::<Vec<_>>()
    };
    assert_eq!(devices(&some), ["mlx5_0"]);
    let mut all = source(&tree, &[], 1000);
    assert_eq!(read(&mut all, &mut pipeline, &[0, 500, 1000]), [3, 0, 3]);
    assert_eq!(devices(&all), ["bnxt_re0", "mlx5_0", "rdmap0s6"]);
    // The device is gone: no more samples, and after the next scan it is not listed.
    std::fs::remove_dir_all(tree.root().join("class/infiniband/bnxt_re0")).unwrap();
    assert_eq!(read(&mut all, &mut pipeline, &[61_000, 62_000]), [2, 2]);
    assert_eq!(devices(&all), ["mlx5_0", "rdmap0s6"]);
}

#[test]
fn a_host_without_counters_has_a_reason() {
    let text = fixture("sysfs", "mlx5.tree");
    let tree = Tree::new([text.as_str()]);
    let why = |source: &mut CounterSource<_>| source.discover(FIRST).unwrap_err().to_string();
    let excluded = why(&mut source(&tree, &["mlx5_*"], 1000));
    assert_eq!(excluded, "all RDMA devices of this host are excluded: mlx5_0");
    let empty = tempfile::tempdir().unwrap();
    let mut nothing = source_at(empty.path(), Statistics::default(), &[], 1000);
    assert!(why(&mut nothing).ends_with("does not exist: the kernel has no RDMA driver loaded"));
    // The reader scans again, and finds the NIC once it exists.
    std::fs::create_dir_all(empty.path().join("class/infiniband")).unwrap();
    assert_eq!(why(&mut nothing), "this host has no RDMA device");
}

#[test]
fn what_cannot_be_read_is_counted() {
    let text = fixture("sysfs", "mlx5.tree");
    let mut tree = Tree::new([text.as_str()]);
    let file = tree.root().join("class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    tree.statistics = Statistics::default();
    let mut source = source(&tree, &[], 1000);
    let mut values = Vec::new();
    let mut keep = |sample: &CounterSample<'_>| {
        values.extend(sample.values.iter().map(|(name, _)| name.to_string()));
    };
    source.read(&mut || FIRST, &mut keep).unwrap();
    assert!(values.iter().any(|name| name == "rp_cnp_handled"));
    assert!(!values.iter().any(|name| name == "np_cnp_sent"));
    let health: Vec<_> =
        source.take_health().iter().map(|(event, count)| (event.name(), count)).collect();
    assert_eq!(health, [("counter.unreadable_files", 1), ("counter.unreadable_netdevs", 1)]);
    assert_eq!(source.take_health().iter().count(), 0);
    let notes = source.completeness();
    assert!(notes[1].starts_with("statistics of ens1np0 cannot be read ("), "{notes:?}");
}
