//! Several outputs in one text, of several hosts, and texts that are none.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{report, titles};

#[test]
fn hosts_of_pdsh_stay_apart() {
    let text = "n1: link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2\n\
                n2: link mlx5_0/1 state DOWN physical_state DISABLED netdev eth2\n\
                n1: hca_id:\tmlx5_0\n\
                n2: hca_id:\tmlx5_0\n\
                n1: \t\tport:\t1\n\
                n2: \t\tport:\t1\n\
                n2: \t\t\tlink_layer:\tEthernet\n\
                n1: \t\t\tlink_layer:\tInfiniBand\n";
    let report = report(text);
    let layers: Vec<_> = report
        .nodes
        .iter()
        .map(|node| {
            (node.host.as_deref().unwrap(), node.ports.len(), node.ports[0].link_layer.unwrap())
        })
        .collect();
    assert_eq!(layers, [("n1", 1, "InfiniBand"), ("n2", 1, "Ethernet")]);
    assert_eq!(titles(&report, "ports_down"), ["n2: 1 of 1 RDMA port is down: mlx5_0 (eth2)"]);
    let ports = "n1: mlx5_0 port 1 ==> eth2 (Up)\nn2: mlx5_0 port 1 ==> eth2 (Down)\n";
    assert_eq!(titles(&super::report(ports), "ports_down").len(), 1);
}

#[test]
fn what_a_training_prints_is_no_output() {
    let text = "step: 5\nloss: 2\niteration 100: 5\nepoch 3 loss 0.25 lr 1\n{\n \"lr\": 0.1\n}\nGPU0 is busy\n\
                link to the docs: http://x/1\n2026-11-27 10:00:00 rank 0: 17\nsize count 5\n# comment\n$ 5\n";
    let report = report(text);
    assert!(report.nodes.is_empty() && report.benchmarks.is_empty());
    assert_eq!(report.inputs[0].read, 0);
}

/// The program with a text on its standard input.
fn pasted(text: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    command.args(["analyze", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn standard_input_may_be_a_paste() {
    let said = pasted(
        "$ mlnx_qos -i eth2\nPriority trust state: pcp\nPFC configuration:\n\
                       \tenabled     0   0   0   0   0   0   0   0\n",
    );
    assert!(said.starts_with("● PFC is off on all priorities on eth2"), "{said}");
}

#[test]
fn an_excerpt_of_a_dump_is_named() {
    let said =
        pasted("  \"pg_config\": {\n  },\n  \"entries\": [\n  {\n    \"collective_seq_id\": 7\n");
    let said = said.replace("\n  ", " ");
    assert!(
        said.starts_with("● Nothing of this could be judged: it looks like an excerpt"),
        "{said}"
    );
    assert!(said.contains("TORCH_NCCL_DEBUG_INFO_TEMP_FILE"), "{said}");
}

#[test]
fn the_first_line_says_what_was_read() {
    let well = pasted("mlx5_0 port 1 ==> eth2 (Up)\nmlx5_1 port 1 ==> eth3 (Up)\n");
    assert!(
        well.starts_with("● Read: standard input: 2 RDMA ports, 2 active. No problem found"),
        "{well}"
    );
    let some = pasted("mlx5_0 port 1 ==> eth2 (Up)\0\nmlx5_1 port 1 ==> eth3 (Down)\n");
    assert!(some.starts_with("● 1 of 2 RDMA ports is down: mlx5_1 (eth3)"), "{some}");
    let mixed = pasted("Port Tx PFC0 PFC1\nEthernet0 5 6\n");
    assert!(
        mixed.starts_with("● Read: standard input: 2 counters since they were cleared"),
        "{mixed}"
    );
}

#[test]
fn standard_input_may_still_be_a_capture() {
    let path = crate::support::fixture::path("write_bw_rc_s128.pcap.gz");
    let file = std::fs::File::open(path).unwrap();
    let mut cat = Command::new("cat").stdin(file).stdout(Stdio::piped()).spawn().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["analyze", "-"])
        .stdin(cat.stdout.take().unwrap())
        .output()
        .unwrap();
    cat.wait().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("RoCE"), "{said}");
}

#[test]
fn a_file_with_a_table_is_no_answer_of_ras() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.txt");
    let text = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n\
                #        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n\
                \x20    1048576        262144     float     sum      -1    583.4    1.80    3.15      0\n";
    std::fs::write(&path, text).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_railscope")).arg("analyze").arg(&path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("3.15 GB/s bus bandwidth"), "{said}");
}

#[test]
fn the_option_for_counters_takes_what_its_help_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eth2.txt");
    std::fs::write(&path, "NIC statistics:\n     rx_packets: 100\n     rx_missed: 4\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["analyze", "--counters"])
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("the NIC dropped packets at the receiver since boot: rx_missed 4"),
        "{said}"
    );
}
