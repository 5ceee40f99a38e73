//! The table against nccl-tests' output and its parsers.

use std::time::Duration;

use railscope_drive::collective::{DataType, Kind, Operator};
use railscope_drive::job::{IbSettings, Job, Shape, Transport, Workload};
use railscope_drive::launch::Outcome;
use railscope_drive::layout::Layout;
use railscope_drive::release::Release;
use railscope_drive::report::{IterationTime, Measure, Placement};
use railscope_drive::table::{Document, Facts, Table};
use railscope_drive::truth;
use serde_json::json;

fn job(kind: Kind, shape: Shape) -> Job {
    Job {
        release: Release::V2_27_7,
        transport: Transport::Soft,
        channels: 2,
        workload: Workload {
            kind,
            data_type: DataType::Float32,
            operator: Operator::Sum,
            root: 0,
            shape,
        },
        check: true,
        seed: 1,
        faults: Vec::new(),
        ib: IbSettings {
            hca: None,
            gid_index: None,
            traffic_class: 0,
            queue_pairs: 1,
            timeout: 14,
            retries: 7,
            mtu: 4096,
            forced_mtu: None,
        },
        patience: Duration::from_secs(30),
        keeps_waiting: false,
        profiler: None,
        layout: Layout::default(),
    }
}

fn sweep(sizes: &[u64]) -> Shape {
    Shape::Sweep { sizes: sizes.to_vec(), warmup: 1, iterations: 20 }
}

fn rank(rank: u32) -> truth::Rank {
    truth::Rank {
        rank,
        host: format!("gpu-node-{:02}", rank + 1),
        pid: 6899 + rank,
        address: [10, 0, 0, 1].into(),
        data_address: [10, 0, 0, 1].into(),
        interface: "eth0".to_owned(),
        device: "soft0".to_owned(),
        bus_id: "0000:1b:00.0".to_owned(),
    }
}

fn table(job: &Job, ranks: u32) -> Table {
    let facts = Facts { version: "0.1.0".to_owned(), place: vec!["here".to_owned()] };
    let mut table = Table::new(job, ranks, &facts);
    (0..ranks).for_each(|number| table.introduce(rank(number)));
    table
}

/// All ranks take the same time, and compare results afterwards.
fn measured(table: &mut Table, ranks: u32, row: usize, micros: [u64; 2], wrong: u64) {
    for (placement, micros) in [Placement::OutOfPlace, Placement::InPlace].into_iter().zip(micros) {
        let time = Duration::from_micros(micros) * 20;
        let measure = Measure { row, placement, collectives: 20, time, wrong: None };
        let time = Duration::ZERO;
        let check = Measure { row, placement, collectives: 0, time, wrong: Some(wrong) };
        for measure in [measure, check] {
            for rank in 0..ranks {
                table.results_mut().measured(rank, &measure);
                table.update();
            }
        }
    }
}

/// Shows trailing blanks as dots: nccl-tests prints some.
fn visible(text: &str) -> String {
    let line = |line: &str| {
        let shown = line.trim_end_matches(' ');
        format!("{shown}{}\n", "·".repeat(line.len() - shown.len()))
    };
    text.lines().map(line).collect()
}

/// Header, titles and lines as all_reduce_perf prints them (many clusters document a run); our own
/// text is in comments.
#[test]
fn a_sweep_looks_as_nccl_tests_prints_it() {
    let job = job(Kind::AllReduce, sweep(&[8, 1 << 20, 1 << 30]));
    let mut table = table(&job, 2);
    measured(&mut table, 2, 0, [6, 7], 0);
    measured(&mut table, 2, 1, [1234, 1230], 0);
    assert_eq!(table.take_text().lines().count(), 14, "rows are printed only when complete");
    measured(&mut table, 2, 2, [123_456_789, 9_999_999], 3);
    table.end(&Outcome::Done);
    let text = visible(&table.take_text());
    let expected = "  \
  1073741824     268435456     float     sum      -1  1.2e+08    0.01    0.01       6  9999999    0.11    0.11       6
# Out of bounds values : 12 FAILED
# Avg bus bandwidth    : 0.303464·
#
# Collective test concluded: all_reduce_perf
#
";
    assert_eq!(text, expected);
}

#[test]
fn the_header_is_nccl_tests_with_comments_of_ours() {
    let job = job(Kind::AllReduce, sweep(&[8, 16, 32]));
    let mut table = table(&job, 2);
    measured(&mut table, 2, 0, [6, 7], 0);
    let expected = "\
# railscope drive version 0.1.0 speaks NCCL 2.27.7
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
# Place: here
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on gpu-node-01 device  0 [0000:1b:00] no GPU, soft0 10.0.0.1
#  Rank  1 Group  0 Pid   6900 on gpu-node-02 device  0 [0000:1b:00] no GPU, soft0 10.0.0.1
#
#                                                              out-of-place                       in-place··········
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong·
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)·········
           8             2     float     sum      -1     6.00    0.00    0.00       0     7.00    0.00    0.00       0
";
    assert_eq!(visible(&table.take_text()), expected);
}

/// Counts, operators and bandwidths of each collective: nccl-tests' `*GetCollByteCount` and
/// `*GetBw`.
#[test]
fn each_collective_has_its_own_bandwidth_formula() {
    // 1 GB in 1 s is 1 GB/s.
    let cases = [
        (Kind::AllReduce, "250000000     float     sum      -1", 1.5),
        (Kind::AllGather, " 62500000     float    none      -1", 0.75),
        (Kind::ReduceScatter, " 62500000     float     sum      -1", 0.75),
        (Kind::Broadcast, "250000000     float    none       0", 1.0),
    ];
    for (kind, columns, bus) in cases {
        let job = job(kind, sweep(&[1_000_000_000]));
        let mut table = table(&job, 4);
        measured(&mut table, 4, 0, [1_000_000, 1_000_000], 0);
        let text = table.take_text();
        let row = text.lines().last().unwrap();
        assert!(row.contains(columns), "{kind:?}: {row}");
        assert!(row.contains(&format!("1000000    1.00    {bus:.2}")), "{kind:?}: {row}");
        assert!((table.results().mean_bus_bandwidth() - bus).abs() < 1e-9);
    }
}

/// One row per bucket, in place; the out-of-place half looks as nccl-tests prints a missing one.
#[test]
fn a_training_job_has_a_row_per_bucket() {
    let (compute, jitter) = (Duration::from_millis(80), Duration::ZERO);
    let buckets = vec![4 << 20, 1 << 20];
    let shape = Shape::Training { buckets, warmup: 1, iterations: 2, compute, jitter };
    let job = job(Kind::AllReduce, shape);
    let mut table = table(&job, 2);
    let _ = table.take_text();
    for rank in 0..2_u32 {
        for iteration in 0..2 {
            for row in 0..2 {
                let (placement, wrong) = (Placement::InPlace, Some(0));
                let time = Duration::from_millis(2);
                let measure = Measure { row, placement, collectives: 1, time, wrong };
                table.results_mut().measured(rank, &measure);
            }
            let late = Duration::from_millis(u64::from(30 * rank * iteration));
            let time =
                IterationTime { iteration, compute: compute + late, total: compute * 2 + late };
            table.results_mut().iteration(rank, &time);
        }
    }
    table.update();
    table.end(&Outcome::Interrupted);
    let expected = "     \
     4194304       1048576     float     sum      -1     0.00    0.00    0.00     N/A  2000.00    2.10    2.10       0
     1048576        262144     float     sum      -1     0.00    0.00    0.00     N/A  2000.00    0.52    0.52       0
# Training steps       : 2, mean 175.00 ms of which 87.50 ms computing
# Longest              : 190.00 ms, iteration 1; most computing in it: 110.00 ms, rank 1
# Interrupted, and not complete
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.31072·
#
# Collective test concluded: all_reduce_perf
#
";
    assert_eq!(visible(&table.take_text()), expected);
}

/// How SuperBench (`cuda_nccl_bw_performance.py`) and CloudAI (`_parse_data_rows`) read tables:
/// columns by title, counted from the end; lines that begin with a digit have 13 columns.
#[test]
fn parsers_of_nccl_tests_find_their_columns() {
    let job = job(Kind::AllReduce, sweep(&[8, 1 << 20]));
    let mut table = table(&job, 2);
    measured(&mut table, 2, 0, [6, 7], 0);
    measured(&mut table, 2, 1, [1234, 1230], 0);
    table.end(&Outcome::Done);
    let text = table.take_text();
    let begin = text.lines().position(|line| line.contains("out-of-place")).unwrap();
    let end = text.lines().position(|line| line.contains("Out of bounds values")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let titles: Vec<&str> = lines[begin + 1][1..].split_whitespace().collect();
    let from_end = titles.len() - titles.iter().position(|title| *title == "busbw").unwrap();
    let rows: Vec<Vec<&str>> = lines[begin + 1..end]
        .iter()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|columns| columns[0].starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(rows.iter().all(|columns| columns.len() == 13));
    let bus: Vec<f64> = rows.iter().map(|row| row[row.len() - from_end].parse().unwrap()).collect();
    assert_eq!(bus, [0.0, 0.85]);
    let average = text.lines().find(|line| line.starts_with("# Avg bus bandwidth")).unwrap();
    assert_eq!(average.split_whitespace().last(), Some("0.426179"));
}

#[test]
fn the_document_has_the_keys_of_nccl_tests() {
    let job = job(Kind::AllGather, sweep(&[1 << 20]));
    let mut table = table(&job, 4);
    measured(&mut table, 4, 0, [1000, 500], 0);
    let document = Document::new(&job, 4, &table, &Outcome::Done);
    let document = serde_json::to_value(&document).unwrap();
    let cell = |time: f64, alg: f64| json!({"time": time, "alg_bw": alg, "bus_bw": alg * 0.75, "nwrong": 0, "collectives": 20});
    let row = json!({
        "size": 1_048_576, "count": 65536, "type": "float", "redop": "none", "root": -1,
        "out_of_place": cell(1000.0, 1.048576), "in_place": cell(500.0, 2.097152),
    });
    assert_eq!(document["results"], json!([row]));
    assert_eq!(document["schema"], "railscope.drive/1");
    assert_eq!(document["out_of_bounds"], json!({"count": 0, "okay": true}));
    assert_eq!(document["average_bus_bandwidth"]["bandwidth"], 1.572864 * 0.75);
    assert_eq!(document["config"]["devices"][3]["hostname"], "gpu-node-04");
    assert_eq!(document["job"]["transport"], "soft");
}
