//! The examples of `docs/opentelemetry.md`: the lines of Python run, and the Collector's
//! configuration is consistent.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Receiver, items, railscope};
use crate::support::receivers;
use crate::support::recording::Recording;

/// The only block of a language on the page.
fn block(language: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/opentelemetry.md");
    let page = fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    let mut blocks = page.split(&fence).skip(1);
    let (block, _) = blocks.next().unwrap().split_once("```").unwrap();
    assert!(blocks.next().is_none());
    block.to_owned()
}

/// What stands in for PyTorch: a rank that calls and does nothing.
const TORCH: &str =
    "import os\ndef get_rank(): return int(os.environ['RANK'])\ndef all_reduce(tensor): pass\n";

/// NCCL's logs of a recorded job, in the order of ranks.
fn logs(job: &Recording) -> Vec<PathBuf> {
    let entries = fs::read_dir(job.folder().join("logs")).unwrap();
    let mut logs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    logs.sort_unstable();
    logs
}

/// Trace and number of all collectives that railscope reports.
fn seen(test: &str, job: &Recording) -> Option<BTreeSet<(String, u64)>> {
    let receiver = Receiver::start(test, &[])?;
    let only = [("OTEL_METRICS_EXPORTER", "none"), ("OTEL_LOGS_EXPORTER", "none")];
    let mut analyze = railscope(&["analyze", "--otlp", &receiver.url("http")], &only);
    let output = analyze.args(job.captures()).current_dir(job.folder()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let spans = items(&receiver.requests(), "traces");
    Some(spans.iter().filter(|span| span["parent"] == "").map(trace_and_number).collect())
}

fn trace_and_number(span: &Value) -> (String, u64) {
    let number = span["attributes"]["nccl.collective.sequence"].as_u64().unwrap();
    (span["trace"].as_str().unwrap().to_owned(), number)
}

#[test]
fn the_lines_for_pytorch_give_the_ids_of_real_jobs() {
    let test = "the_lines_for_pytorch_give_the_ids_of_real_jobs";
    let needed = "opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.http";
    for name in ["ring-2.27.5", "async-straggler-2.27.5"] {
        let job = Recording::unpack(name);
        let Some(seen) = seen(test, &job) else { return };
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("torch")).unwrap();
        fs::write(folder.path().join("torch/__init__.py"), "").unwrap();
        fs::write(folder.path().join("torch/distributed.py"), TORCH).unwrap();
        let calls = format!("for _ in range({}): all_reduce(None)\n", seen.len());
        let program = format!("{}\n{calls}provider.shutdown()\n", block("python"));
        let receiver = Receiver::start(test, &[]).unwrap();
        let logs = logs(&job);
        for (rank, log) in logs.iter().enumerate() {
            let Some(mut python) = receivers::python(test, needed) else { return };
            let libraries = python.get_envs().find(|(name, _)| *name == "PYTHONPATH").unwrap().1;
            let path = std::env::join_paths([folder.path().as_os_str(), libraries.unwrap()]);
            let output = python
                .args(["-c", &program])
                .env("PYTHONPATH", path.unwrap())
                .env("RANK", rank.to_string())
                .env("NCCL_DEBUG_FILE", log)
                .env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url("http"))
                .env("OTEL_SERVICE_NAME", "training")
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let requests = receiver.requests();
        assert!(requests.iter().all(|one| one["resource"]["service.name"] == "training"));
        let spans = items(&requests, "traces");
        assert_eq!(spans.len(), logs.len() * seen.len());
        let told: BTreeSet<(String, u64)> = spans.iter().map(trace_and_number).collect();
        assert_eq!(told, seen, "{name}");
        println!("{name}: {} collectives of {} ranks, ids equal", seen.len(), logs.len());
    }
}

#[test]
fn the_collectors_configuration_is_consistent() {
    let test = "the_collectors_configuration_is_consistent";
    let Some(config) = receivers::yaml(test, &block("yaml")) else { return };
    let defined = |section: &str| -> BTreeSet<String> {
        config[section].as_object().unwrap().keys().cloned().collect()
    };
    let pipelines = config["service"]["pipelines"].as_object().unwrap();
    for section in ["receivers", "processors", "exporters"] {
        let mut used = BTreeSet::new();
        for pipeline in pipelines.values() {
            let names = pipeline[section].as_array().unwrap();
            used.extend(names.iter().map(|name| name.as_str().unwrap().to_owned()));
        }
        assert_eq!(used, defined(section), "{section}");
    }
    let signals: Vec<&String> = pipelines.keys().collect();
    assert_eq!(signals, ["logs", "metrics", "traces"]);
    for pipeline in pipelines.values() {
        // As the Collector's documentation orders them.
        assert_eq!(pipeline["processors"], serde_json::json!(["memory_limiter", "batch"]));
    }
}
