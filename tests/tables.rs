//! `analyze --format parquet`: every row and value is in the JSON of the same captures.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

use crate::cli::{railscope, railscope_on};
use crate::support::fixture;
use crate::support::recording::Recording;

/// A row by column. Times are in microseconds since the Unix epoch.
type Row = BTreeMap<String, Value>;

/// Runs `analyze` with these options on something, and returns standard output.
type Analyze<'a> = &'a dyn Fn(&[&str]) -> String;

/// The only file below a folder of folders.
fn only_file(folder: &Path) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path()).collect();
    let [only] = entries.as_slice() else { panic!("{}: {entries:?}", folder.display()) };
    if only.is_dir() { only_file(only) } else { only.clone() }
}

fn reader(tables: &Path, table: &str) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(only_file(&tables.join(table))).unwrap()).unwrap()
}

fn rows(tables: &Path, table: &str) -> Vec<Row> {
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::Long(value) | Field::TimestampMicros(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        other => panic!("{other:?}"),
    };
    let rows = reader(tables, table).into_iter().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
    });
    rows.collect()
}

fn list<'a>(report: &'a Value, section: &str) -> &'a [Value] {
    report[section].as_array().map_or(&[], Vec::as_slice)
}

fn origin_ns(report: &Value) -> i64 {
    report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap()
}

/// The entry of a list whose key has a value.
fn find<'a>(all: &'a [Value], key: &str, value: &Value) -> &'a Value {
    all.iter().find(|one| &one[key] == value).unwrap_or(&Value::Null)
}

fn host_of_rank(report: &Value, communicator: &Value, rank: &Value) -> Value {
    let communicator = find(list(report, "communicators"), "id", communicator);
    find(list(communicator, "ranks"), "rank", rank)["place"].clone()
}

fn host_of_port(report: &Value, address: &Value) -> Value {
    let named = &find(list(report, "ports"), "address", address)["host"];
    if !named.is_null() {
        return named.clone();
    }
    let communicators = list(report, "communicators").iter();
    let ranks = communicators.flat_map(|one| list(one, "ranks"));
    let has = |rank: &&Value| list(rank, "nics").iter().any(|nic| &nic["address"] == address);
    ranks.filter(has).map(|rank| rank["place"].clone()).next_back().unwrap_or_default()
}

/// What a column of a row holds that does not simply repeat a key.
fn derived(report: &Value, table: &str, column: &str, at: usize, one: &Value) -> Option<Value> {
    let subject = &one["subject"];
    let port_or_rank = || {
        let of_port = host_of_port(report, &subject["port"]);
        let of_rank = || host_of_rank(report, &subject["communicator"], &subject["rank"]);
        if of_port.is_null() { of_rank() } else { of_port }
    };
    let sum = |key: &str| {
        list(one, "recoveries").iter().map(|one| one[key].as_u64().unwrap()).sum::<u64>()
    };
    let congestion = || find(list(report, "congestion"), "address", &one["address"]);
    let length = || json!(one["end_ns"].as_i64().unwrap() - one["start_ns"].as_i64().unwrap());
    Some(match (table, column) {
        ("captures", "schema") => json!("railscope.tables/1"),
        ("captures", "version") => report["tool"]["version"].clone(),
        ("captures", "start_at") => json!(origin_ns(report) / 1000),
        ("captures", "origin_ns") => json!(origin_ns(report)),
        ("captures", "taps") => json!(list(report, "taps").len()),
        ("captures", "training_steps") => json!(list(report, "iterations").len()),
        ("captures", "ranks") => {
            let ranks =
                list(report, "communicators").iter().filter_map(|one| one["nranks"].as_u64());
            json!(ranks.max())
        }
        ("training_steps" | "collectives", "straggler_host") => {
            host_of_rank(report, &one["communicator"], &one["straggler"]["rank"])
        }
        ("training_steps" | "collectives", "duration_ns") => length(),
        ("queue_pairs", "src_host") => host_of_port(report, &one["src"]),
        ("queue_pairs", "dst_host") => host_of_port(report, &one["dst"]),
        ("queue_pairs", "rail") => {
            find(list(report, "ports"), "address", &one["src"])["rail"].clone()
        }
        ("queue_pairs", "recoveries") => json!(sum("count")),
        ("queue_pairs", "recovery_ns") => json!(sum("recovery_ns")),
        ("queue_pairs", "timeouts") => {
            let one = find(list(one, "recoveries"), "trigger", &json!("timeout"));
            json!(one["count"].as_u64().unwrap_or(0))
        }
        ("queue_pairs", "sequence_naks") => one["naks"]["psn_sequence_error"].clone(),
        ("queue_pairs", "fatal_naks") => {
            let all = one["naks"].as_object().unwrap().iter();
            let fatal = all.filter(|(name, _)| *name != "psn_sequence_error");
            json!(fatal.map(|(_, naks)| naks.as_u64().unwrap()).sum::<u64>())
        }
        ("rank_waits", "host") => one["place"].clone(),
        ("ports", "host") => host_of_port(report, &one["address"]),
        ("ports", "tx_100us_bps" | "tx_1ms_bps" | "rx_100us_bps" | "rx_1ms_bps") => {
            one["peaks"][column].clone()
        }
        ("ports", "ce_packets" | "ce_among_packets" | "marked_queue_pairs" | "cnps") => {
            congestion()[column].clone()
        }
        ("ports", "rx_bursts" | "rx_longest_burst_ns" | "rx_burst_ns" | "rx_max_incast_flows") => {
            let narrowest =
                list(report, "bursts").iter().min_by_key(|one| one["bucket_ns"].as_u64());
            let ports = narrowest.map_or(&[][..], |one| list(one, "ports"));
            let is_it = |port: &&Value| {
                let is_busiest = port["is_busiest_tap"] == true && port["direction"] == "rx";
                is_busiest && port["address"] == one["address"]
            };
            let key = match column {
                "rx_bursts" => "bursts",
                "rx_longest_burst_ns" => "longest_ns",
                "rx_burst_ns" => "time_above_ns",
                _ => "max_incast_flows",
            };
            ports.iter().find(is_it).map_or(Value::Null, |port| port[key].clone())
        }
        ("ports", "firmware") => {
            let node = find(list(report, "nodes"), "host", &host_of_port(report, &one["address"]));
            find(list(node, "ports"), "device", &one["device"])["firmware"].clone()
        }
        ("findings" | "verdicts", "number") => json!(at),
        ("findings", "flows") => json!(list(one, "flows").len()),
        ("findings", "host") => port_or_rank(),
        ("verdicts", "host") if subject["host"].is_null() => port_or_rank(),
        ("verdicts", "alternative") => one["alternatives"][0].clone(),
        ("findings" | "verdicts", _) if subject.get(column).is_some() => subject[column].clone(),
        _ => return None,
    })
}

/// What the JSON says that a column holds.
fn expected(report: &Value, table: &str, column: &str, at: usize, one: &Value) -> Value {
    if let Some(value) = derived(report, table, column, at, one) {
        return value;
    }
    if let Some(key) = column.strip_prefix("straggler_") {
        return one["straggler"][key].clone();
    }
    if let Some(key) = column.strip_suffix("_at") {
        let time_ns = one.get(format!("{key}_ns")).unwrap_or_else(|| panic!("{table}: {column}"));
        return time_ns
            .as_i64()
            .map_or(Value::Null, |time| json!((origin_ns(report) + time) / 1000));
    }
    one.get(column).unwrap_or_else(|| panic!("{table}: the JSON has no {column}: {one}")).clone()
}

/// The entries of the JSON that are rows of a table.
fn entries(report: &Value, table: &str) -> Vec<Value> {
    match table {
        "captures" => vec![report["capture"].clone()],
        "training_steps" => list(report, "iterations").to_vec(),
        "rank_waits" => {
            let communicators = list(report, "communicators").iter();
            let ranks = communicators.flat_map(|communicator| {
                list(communicator, "ranks").iter().map(|rank| {
                    let mut row = rank["waits"].as_object().unwrap().clone();
                    row.extend(rank.as_object().unwrap().clone());
                    row.insert("communicator".to_owned(), communicator["id"].clone());
                    Value::Object(row)
                })
            });
            ranks.collect()
        }
        section => list(report, section).to_vec(),
    }
}

/// Compares all tables of a capture with its JSON; returns the number of rows by table.
fn check(name: &str, analyze: Analyze<'_>) -> BTreeMap<String, usize> {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables");
    let output = tables.to_str().unwrap();
    analyze(&["--format", "parquet", "--output", output, "--cluster", "lab", "--job", name]);
    let report: Value = serde_json::from_str(&analyze(&["--format", "json"])).unwrap();
    let capture = rows(&tables, "captures")[0]["capture"].clone();
    assert_eq!(capture.as_str().unwrap().len(), 16, "{capture}");
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(&tables).unwrap() {
        let table = entry.unwrap().file_name().into_string().unwrap();
        let file = only_file(&tables.join(&table));
        let place = file.strip_prefix(tables.join(&table)).unwrap().to_str().unwrap();
        assert!(place.starts_with("day=20"), "{place}");
        let end = format!("/cluster=lab/job={name}/part-{}.parquet", capture.as_str().unwrap());
        assert!(place.ends_with(&end), "{place}");
        let rows = rows(&tables, &table);
        counts.insert(table.clone(), rows.len());
        if table == "ports_per_second" {
            continue;
        }
        let entries = entries(&report, &table);
        assert_eq!(rows.len(), entries.len(), "{name}: {table}");
        for (at, (row, one)) in rows.iter().zip(&entries).enumerate() {
            assert_eq!(row["capture"], capture);
            for (column, value) in row.iter().filter(|(column, _)| *column != "capture") {
                let said = expected(&report, &table, column, at, one);
                assert_eq!(*value, said, "{name}: {table}.{column} of row {at}");
            }
        }
    }
    let messages = folder.path().join("messages");
    let full =
        ["--format", "json", "--detail", "full", "--detail-file", messages.to_str().unwrap()];
    let full: Value = serde_json::from_str(&analyze(&full)).unwrap();
    check_seconds(name, &full, &rows(&tables, "ports_per_second"));
    counts
}

/// Seconds of a port add up to its messages and signals.
fn check_seconds(name: &str, report: &Value, rows: &[Row]) {
    let mut sums: BTreeMap<(String, &str), f64> = BTreeMap::new();
    let mut add = |address: &Value, column, amount: &Value| {
        let address = address.as_str().unwrap().to_owned();
        *sums.entry((address, column)).or_default() += amount.as_f64().unwrap_or(0.0);
    };
    let communicators = list(report, "communicators").iter();
    let connections: Vec<&Value> = communicators.flat_map(|one| list(one, "connections")).collect();
    for transfer in list(report, "transfers") {
        let is_it = |one: &&&Value| one["id"] == transfer["connection"];
        let pair = &connections.iter().find(is_it).unwrap()["queue_pairs"][0];
        if pair.is_null() || transfer["first_ns"].is_null() || transfer["last_ns"].is_null() {
            continue;
        }
        add(&pair["src"], "tx_bytes", &transfer["bytes"]);
        add(&pair["dst"], "rx_bytes", &transfer["bytes"]);
    }
    for signal in list(report, "signals") {
        let flow = find(list(report, "flows"), "id", &signal["flow"]);
        let column = if signal["signal"] == "cnp" { "cnps" } else { "naks" };
        add(&flow["dst"], column, &json!(1));
    }
    for column in ["tx_bytes", "rx_bytes", "cnps", "naks"] {
        let mut of_rows: BTreeMap<String, f64> = BTreeMap::new();
        for row in rows {
            let address = row["address"].as_str().unwrap().to_owned();
            *of_rows.entry(address).or_default() += row[column].as_f64().unwrap();
        }
        for (address, sum) in of_rows {
            let said = sums.get(&(address.clone(), column)).copied().unwrap_or(0.0);
            assert!(
                (sum - said).abs() <= 1e-6 * said,
                "{name}: {column} of {address}: {sum}, {said}"
            );
        }
    }
    for row in rows {
        let second = row["second"].as_i64().unwrap();
        let start = (origin_ns(report) + second * 1_000_000_000) / 1000;
        assert_eq!(row["start_at"], json!(start), "{name}");
    }
}

#[test]
fn every_row_is_in_the_json_of_recorded_jobs() {
    for (run, wanted) in [
        ("loss1pct-2.27.5", "queue_pairs"),
        ("async-straggler-2.27.5", "training_steps"),
        ("rails-2n2g2nic-2.27.5", "ports"),
        ("split-2.27.5", "rank_waits"),
        ("ce-2.27.5", "ports_per_second"),
    ] {
        let job = Recording::unpack(run);
        let analyze = |options: &[&str]| {
            let options = [&["analyze", "--line-rate", "10G"], options].concat();
            railscope_on(&job, &options).warns()
        };
        let counts = check(run, &analyze);
        assert!(counts[wanted] > 1, "{run}: {counts:?}");
    }
}

#[test]
fn every_row_is_in_the_json_of_fixtures() {
    for (at, fixture) in fixture::all().iter().enumerate() {
        let file = fixture.file.as_str();
        let analyze =
            |options: &[&str]| railscope([&["analyze"], options, &[file]].concat()).warns();
        check(&format!("fixture-{at}"), &analyze);
    }
}

#[test]
fn the_same_captures_again_replace_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    let write = |files: &[&str]| {
        let options = ["analyze", "--format", "parquet", "-o"];
        let folder = [folder.path().to_str().unwrap()];
        let run = railscope([&options[..], &folder, files].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stderr
    };
    let said = write(&["rc_pingpong.pcap.gz"]);
    assert!(said.starts_with("9 tables with "), "{said}");
    let first = only_file(&folder.path().join("queue_pairs"));
    let bytes = fs::read(&first).unwrap();
    assert!(first.to_str().unwrap().contains("/cluster=unknown/job=unknown/part-"));
    write(&["./rc_pingpong.pcap.gz"]);
    assert_eq!(fs::read(only_file(&folder.path().join("queue_pairs"))).unwrap(), bytes);
    write(&["write_lat.pcap.gz"]);
    assert_eq!(fs::read(first).unwrap(), bytes);
}

#[test]
fn parts_give_the_tables_of_their_captures() {
    let job = Recording::unpack("loss1pct-2.27.5");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (part, whole, joined) = (path("all.part"), path("whole"), path("joined"));
    railscope_on(&job, &["analyze", "--partial", &part]).warns();
    railscope_on(&job, &["analyze", "--format", "parquet", "-o", &whole]).warns();
    railscope(["analyze", "--format", "parquet", "-o", &joined, &part]).warns();
    for entry in fs::read_dir(&whole).unwrap() {
        let table = entry.unwrap().file_name();
        let [one, other] = [&whole, &joined].map(|place| only_file(&Path::new(place).join(&table)));
        assert_eq!(one.file_name(), other.file_name());
        assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{}", table.display());
    }
    let said =
        railscope(["analyze", "--partial", &part, "-o", &whole, "write_lat.pcap.gz"]).fails();
    assert!(said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_file_says_its_version_and_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["analyze", "--format", "parquet", "-o", folder.path().to_str().unwrap()];
    railscope(options.into_iter().chain(["write_lat.pcap.gz"])).warns();
    let reader = reader(folder.path(), "queue_pairs");
    let metadata = reader.metadata();
    let keys = metadata.file_metadata().key_value_metadata().unwrap();
    let version = keys.iter().find(|one| one.key == "schema").unwrap();
    assert_eq!(version.value.as_deref(), Some("railscope.tables/1"));
    for column in metadata.row_group(0).columns() {
        assert!(format!("{:?}", column.compression()).starts_with("ZSTD"));
    }
}

#[test]
fn wrong_options_are_refused_before_anything_is_read() {
    let fails = |options: &[&str]| {
        railscope([&["analyze"], options, &["write_lat.pcap.gz"]].concat()).fails()
    };
    assert!(fails(&["--format", "parquet"]).contains("name a folder with --output DIR"));
    assert!(fails(&["--output", "x"]).contains("need --format parquet"));
    assert!(fails(&["--job", "x"]).contains("need --format parquet"));
    let said = fails(&["--format", "parquet", "-o", "x", "--job", "a/b"]);
    assert!(said.contains("letters, digits"), "{said}");
    let said = fails(&["--format", "parquet", "-o", "write_lat.pcap.gz"]);
    assert!(said.contains("is no folder"), "{said}");
    let said = fails(&["--format", "parquet", "-o", "x", "--qpn", "1"]);
    assert!(said.contains("covers the whole job"), "{said}");
    // Lines of logs have no time.
    let said = railscope(["analyze", "--format", "parquet", "-o", "x", "logs/split-2.27.5.log.gz"]);
    assert!(said.stderr.contains("no frame and no counter sample has a time"), "{}", said.stderr);
    assert_eq!(said.code, Some(2));
}

#[test]
fn the_committed_catalogue_is_the_printed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards/sql/TABLES.md");
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        railscope(["schema", "tables"]).succeeds() == committed,
        "the tables changed; if that is intended:\n  \
         cargo run -p railscope -- schema tables > dashboards/sql/TABLES.md"
    );
}
