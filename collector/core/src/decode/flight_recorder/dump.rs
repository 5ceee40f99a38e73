//! What a dump says: process groups, and the latest calls of one rank.

use std::collections::BTreeMap;

use serde_json::Value;

/// What one process recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Version of the format.
    pub version: String,
    /// Process groups by name.
    pub groups: BTreeMap<String, Group>,
    /// Calls, the oldest first.
    pub calls: Vec<Call>,
    /// No earlier call was overwritten.
    pub is_whole: bool,
}

/// A process group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What it is for, as in calls.
    pub about: String,
    /// Its ranks, by their number in the job.
    pub ranks: Vec<u32>,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// The process called; the GPU has not begun.
    Scheduled,
    /// The GPU has begun.
    Started,
    /// It ended, well or not.
    Ended,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name of the process group.
    pub group: String,
    /// What the group is for: `default_pg`, `tp`, `dp`; may be empty.
    pub about: String,
    /// Number of the collective in the group, from 1; of send and receive, that of the pair.
    pub number: u64,
    /// It is send or receive.
    pub is_p2p: bool,
    /// What was called, without the backend: `all_reduce`, `send 1->2`.
    pub name: String,
    /// Sizes of the tensors that go in, and their type.
    pub input: String,
    /// Sizes of the tensors that come out, and their type.
    pub output: String,
    /// When it was called, in nanoseconds since the epoch, by the clock of its host.
    pub created_ns: u64,
    /// How far it has come.
    pub progress: Progress,
    /// After how long PyTorch's watchdog ends the job, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Where it was called, the innermost line outside of PyTorch.
    pub line: Option<String>,
}

impl Dump {
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let known = ["entries", "pg_config"].iter().any(|key| value.get(key).is_some());
        let version = text(value, "version").unwrap_or_default();
        let groups = value.get("pg_config").and_then(Value::as_object);
        let groups = groups.into_iter().flatten().map(|(name, group)| (name.clone(), ranks(group)));
        let entries = value.get("entries").and_then(Value::as_array);
        let first = entries.and_then(|all| all.first()?.get("record_id")?.as_u64());
        let calls = entries.into_iter().flatten().filter_map(call);
        known.then(|| Self {
            version,
            groups: groups.collect(),
            calls: calls.collect(),
            is_whole: first.is_none_or(|first| first == 0),
        })
    }
}

/// `ranks` is text: "[0, 1, 2]".
fn ranks(group: &Value) -> Group {
    let list = text(group, "ranks").unwrap_or_default();
    let numbers = list.split(|c: char| !c.is_ascii_digit()).filter_map(|one| one.parse().ok());
    let about = text(group, "desc").unwrap_or_default();
    Group { about, ranks: numbers.collect() }
}

fn call(entry: &Value) -> Option<Call> {
    let number = |key: &str| entry.get(key).and_then(Value::as_u64);
    let is_p2p = entry.get("is_p2p").and_then(Value::as_bool).unwrap_or(false);
    let name = text(entry, "profiling_name")?;
    // `nccl:all_reduce`, but `nccl:_all_gather_base`.
    let name = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
    let names = entry.get("process_group")?.as_array()?;
    let group = names.first()?;
    Some(Call {
        about: names.get(1).and_then(Value::as_str).unwrap_or_default().to_owned(),
        group: group.as_str().map_or_else(|| group.to_string(), str::to_owned),
        number: number(if is_p2p { "p2p_seq_id" } else { "collective_seq_id" })?,
        is_p2p,
        name: name.trim_start_matches('_').to_owned(),
        input: tensors(entry, "input_sizes", "input_dtypes"),
        output: tensors(entry, "output_sizes", "output_dtypes"),
        created_ns: number("time_created_ns")?,
        progress: progress(entry),
        timeout_ms: number("timeout_ms").filter(|limit| *limit > 0),
        line: line(entry),
    })
}

/// An entry of gloo stays `scheduled`; it is `retired` when the call ends.
fn progress(entry: &Value) -> Progress {
    let is_retired = entry.get("retired").and_then(Value::as_bool).unwrap_or(false);
    match text(entry, "state").as_deref() {
        Some("completed") => Progress::Ended,
        _ if is_retired => Progress::Ended,
        Some("started") => Progress::Started,
        _ => Progress::Scheduled,
    }
}

/// `[1024, 8] Float`, or several joined by commas.
fn tensors(entry: &Value, sizes: &str, types: &str) -> String {
    let list = |key: &str| entry.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let (sizes, types) = (list(sizes), list(types));
    let kind = |at: usize| types.get(at).and_then(Value::as_str).unwrap_or_default();
    let tensor = |(at, size): (usize, &Value)| format!("{size} {}", kind(at)).trim().to_owned();
    sizes.iter().enumerate().map(tensor).collect::<Vec<_>>().join(", ")
}

/// The first frame that is not PyTorch's own.
fn line(entry: &Value) -> Option<String> {
    let frames = entry.get("frames")?.as_array()?;
    let is_own = |frame: &&Value| {
        let file = text(frame, "filename").unwrap_or_default();
        !file.contains("/torch/") && !file.starts_with('<') && !file.is_empty()
    };
    let frame = frames.iter().find(is_own)?;
    let number = frame.get("line").and_then(Value::as_u64)?;
    Some(format!("{}:{number} {}", text(frame, "filename")?, text(frame, "name")?))
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_of_the_documentation() {
        let json = br#"{"version": "2.3", "pg_config": {"0": {"name": "0", "desc": "default_pg",
            "ranks": "[0, 1]"}}, "entries": [{"record_id": 0, "pg_id": 0, "process_group": ["0",
            "default_pg"], "collective_seq_id": 2, "p2p_seq_id": 0, "op_id": 1, "profiling_name":
            "nccl:_all_gather_base", "time_created_ns": 1724779239936775119, "input_sizes":
            [[3, 4]], "input_dtypes": ["Float"], "output_sizes": [[6, 4]], "output_dtypes":
            ["Float"], "state": "started", "time_discovered_started_ns": null, "retired": false,
            "timeout_ms": 600000, "is_p2p": false, "frames": [
            {"name": "all_gather", "filename": "/v/torch/distributed/c10d.py", "line": 3},
            {"name": "train", "filename": "train.py", "line": 40}]}]}"#;
        let dump = Dump::parse(json).unwrap();
        assert_eq!(dump.groups["0"].ranks, [0, 1]);
        let call = &dump.calls[0];
        assert_eq!((call.group.as_str(), call.number), ("0", 2));
        assert_eq!(call.name, "all_gather_base");
        assert_eq!((call.input.as_str(), call.output.as_str()), ("[3,4] Float", "[6,4] Float"));
        assert_eq!(call.progress, Progress::Started);
        assert_eq!(call.line.as_deref(), Some("train.py:40 train"));
        assert!(Dump::parse(b"{}").is_err() && Dump::parse(b"[Rank 0] Watchdog").is_err());
    }
}
