//! Benchmarks, Inspector, and what connects GPUs and NICs.

use super::{names, report, reports, title, titles};

fn table(rows: &str) -> String {
    format!(
        "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n\
         # Collective test starting: all_reduce_perf\n\
         # nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20\n\
         #  Rank  0 Group  0 Pid 100 on h1 device  0 [0000:18:00] NVIDIA H100 80GB HBM3\n\
         #  Rank  1 Group  0 Pid 101 on h2 device  0 [0000:18:00] NVIDIA H100 80GB HBM3\n\
         #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n\
         {rows}\
         # Out of bounds values : 0 OK\n\
         # Avg bus bandwidth    : 12.5\n\
         # Collective test concluded: all_reduce_perf\n"
    )
}

const ROW: &str = "  1073741824     268435456     float     sum      -1    44739   24.00   24.00      0    44700   24.02   24.02      0\n";

const RATE: &str =
    "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n\t\tLink layer: Ethernet\n";

#[test]
fn tables_are_held_against_the_ports_of_a_node() {
    let alone = report(&table(ROW));
    assert!(alone.findings.is_empty(), "without a rate, nothing is low: {:?}", names(&alone));
    let benchmark = &alone.benchmarks[0];
    assert_eq!((benchmark.operation.as_deref(), benchmark.ranks), (Some("all_reduce"), Some(2)));
    assert_eq!((benchmark.hosts, benchmark.version.as_deref()), (Some(2), Some("2.17.6")));
    assert_eq!(benchmark.average_busbw_bytes_per_s, Some(12_500_000_000));
    let figures = benchmark.rows[0].in_place.as_ref().unwrap();
    assert_eq!((figures.time_ns, figures.busbw_bytes_per_s), (44_700_000, 24_020_000_000));
    assert_eq!(alone.inputs[0].kind, "nccl_tests");

    let both = reports(&[&table(ROW), RATE]);
    assert_eq!(
        titles(&both, "bandwidth_low"),
        ["all_reduce of 2 ranks reaches 24.0 GB/s bus bandwidth at 1.00 GiB: 48 % of 400 Gb/s"]
    );
    let well = ROW.replace("24.0", "46.0");
    assert!(reports(&[&table(&well), RATE]).findings.is_empty());
    let on_one_host = table(ROW).replace("on h2", "on h1");
    assert!(reports(&[&on_one_host, RATE]).findings.is_empty(), "NVLink has another rate");
}

#[test]
fn wrong_values_are_critical() {
    let rows = ROW.replace("24.00      0", "24.00      7");
    let report = report(&table(&rows));
    assert_eq!(
        titles(&report, "wrong_values"),
        ["all_reduce gave wrong results: 7 values from 1.00 GiB on"]
    );
    assert_eq!(report.verdicts[0].id, "wrong_values");
}

#[test]
fn older_tables_and_launchers_prefixes() {
    // nccl-tests before 2.13: no root, `error` instead of `#wrong`; results may be unchecked.
    let rows = "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n\
                \x20     67108864      16777216   float     sum   5592.4   12.00   21.00  5e-07   5590.0   12.01   21.01    N/A\n";
    for prefix in ["", "[1,0]<stdout>:", "0: "] {
        let text: String = rows.lines().map(|line| format!("{prefix}{line}\n")).collect();
        let report = report(&text);
        let row = &report.benchmarks[0].rows[0];
        assert_eq!(row.bytes, 67_108_864, "{prefix}");
        assert_eq!(row.in_place.as_ref().unwrap().busbw_bytes_per_s, 21_010_000_000);
        assert_eq!(row.out_of_place.as_ref().unwrap().wrong, None);
    }
    let named = report(&format!("$ ./build/all_reduce_perf -b 64M -e 64M\n{rows}"));
    let table = &named.benchmarks[0];
    assert_eq!((table.operation.as_deref(), table.ranks), (Some("all_reduce"), Some(8)));
}

#[test]
fn other_programs_write_between_the_rows() {
    let rows = format!(
        "{ROW}h1:100:130 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Destroy COMPLETE\nany text\n{ROW}"
    );
    let report = report(&table(&rows));
    assert_eq!((report.benchmarks.len(), report.benchmarks[0].rows.len()), (1, 2));
}

const MATRIX: &str = "\
$ nvidia-smi topo -m
\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\tSYS\t0-47\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tSYS\t48-95\t1\t\tN/A
NIC0\tPIX\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tSYS\t X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
";

#[test]
fn gpus_without_a_nic_nearby() {
    assert_eq!(title(MATRIX, "gpu_far_from_nic"), "GPU1 has no NIC nearer than SYS");
    let report = report(MATRIX);
    let known = report.nodes[0].distances.as_ref().unwrap();
    assert_eq!(known.nics, ["mlx5_0", "mlx5_1"]);
    assert_eq!(known.to_nics, [["PIX", "SYS"], ["SYS", "SYS"]]);
    assert_eq!(report.inputs[0].kind, "topology");
}

#[test]
fn the_topology_that_nccl_dumps() {
    let text = "<system version=\"1\">\n <cpu numaid=\"0\">\n\
        \x20 <pci busid=\"0000:10:00.0\" class=\"0x060400\">\n   <pci busid=\"0000:11:00.0\" class=\"0x030200\"><gpu dev=\"0\" rank=\"0\"/></pci>\n\
        \x20  <pci busid=\"0000:12:00.0\" class=\"0x020000\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\"/></nic></pci>\n  </pci>\n\
        \x20 <pci busid=\"0000:20:00.0\" class=\"0x030200\"><gpu dev=\"1\" rank=\"1\"/></pci>\n </cpu>\n\
        \x20<cpu numaid=\"1\"><pci busid=\"0000:80:00.0\" class=\"0x030200\"><gpu dev=\"2\" rank=\"2\"/></pci></cpu>\n</system>\n";
    let read = report(text);
    let known = read.nodes[0].distances.as_ref().unwrap();
    assert_eq!((known.gpus.len(), &known.nics[..]), (3, &["mlx5_0".to_owned()][..]));
    assert_eq!(known.to_nics, [["PIX"], ["PHB"], ["SYS"]]);
    // Cut: nothing is known, and nothing breaks.
    assert!(report(&text[..text.len() / 2]).nodes.is_empty());
}

#[test]
fn records_of_inspector_on_one_line_or_many() {
    let text = r#"{"header": {"id": "0x7f", "rank": 2, "n_ranks": 8, "nnodes": 1}, "metadata": {"hostname": "h1", "pid": 5}, "coll_perf": {"coll": "AllReduce", "coll_sn": 14, "coll_msg_size_bytes": 1048576, "coll_exec_time_us": 61, "coll_algobw_gbs": 17.1, "coll_busbw_gbs": 30.0}}"#;
    let pretty = text.replace(", ", ",\n  ").replacen('{', "{\n", 1);
    for text in [text, &pretty] {
        let report = report(text);
        let record = &report.inspector[0];
        assert_eq!((record.rank, record.operation.as_str()), (2, "AllReduce"), "{text}");
        assert_eq!((record.time_ns, record.busbw_bytes_per_s), (61_000, 30_000_000_000));
    }
}

#[test]
fn a_million_wrong_values_have_an_exponent() {
    let rows = ROW.replace("24.00      0", "24.00  3.1e+06");
    let report = report(&table(&rows));
    assert_eq!(
        titles(&report, "wrong_values"),
        ["all_reduce gave wrong results: 3,100,000 values from 1.00 GiB on"]
    );
}

#[test]
fn only_what_all_ports_bound_is_held_against_them() {
    let two = format!(
        "{RATE}CA 'mlx5_1'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n\t\tLink layer: Ethernet\n"
    );
    assert!(reports(&[&table(ROW), &two]).findings.is_empty(), "one GPU a host uses one port");
    let sendrecv = table(ROW).replace("all_reduce_perf", "sendrecv_perf");
    assert!(reports(&[&sendrecv, RATE]).findings.is_empty());
    let mixed = format!(
        "{RATE}CA 'mlx5_1'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 100\n\t\tLink layer: InfiniBand\n"
    );
    assert!(titles(&reports(&[&table(ROW), &mixed]), "bandwidth_low").is_empty());
}

#[test]
fn other_collectives_are_not_called_all_reduce() {
    let head = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n";
    let row = "  1073741824     268435456     float     sum      -1    44739   24.00   23.81      0    44700   24.02   23.83      0\n";
    assert_eq!(report(&format!("{head}{row}")).benchmarks[0].operation, None);
    let two = format!(
        "$ ./all_reduce_perf\n{head}{ROW}$ mpirun -np 16 ./alltoall_perf -b 1G\n{head}{row}"
    );
    let two = report(&two);
    let operations: Vec<_> = two.benchmarks.iter().map(|one| one.operation.as_deref()).collect();
    assert_eq!(operations, [Some("all_reduce"), Some("alltoall")]);
}

#[test]
fn colours_do_not_hide_the_matrix() {
    let coloured = MATRIX
        .replace("\tGPU0\tGPU1", "\t\u{1b}[4mGPU0\tGPU1")
        .replace("NUMA ID\n", "NUMA ID\u{1b}[0m\n");
    assert_eq!(titles(&report(&coloured), "gpu_far_from_nic").len(), 1);
}

#[test]
fn what_is_not_closed_takes_in_nothing_else() {
    let port = "mlx5_0 port 1 ==> eth2 (Down)\n";
    for start in [
        "{\n \"state\": \"running\",\n ...\n",
        "{\n  \"header\": {\n",
        "<system version=\"1\">\n",
        "<system version=\"1\"></system>\n",
    ] {
        assert_eq!(names(&report(&format!("{start}{port}"))), ["ports_down"], "{start}");
    }
}
