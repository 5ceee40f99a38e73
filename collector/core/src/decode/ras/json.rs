//! Status in JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Launched, Missing, RasCommunicator, RasProcess, RasStatus};

/// NCCL's results that are no error: success, and in progress (`ncclResult_t`).
const NO_ERRORS: [u64; 2] = [0, 7];

/// Names of the others.
const ERRORS: [(u64, &str); 7] = [
    (1, "unhandled CUDA error"),
    (2, "unhandled system error"),
    (3, "internal error"),
    (4, "invalid argument"),
    (5, "invalid usage"),
    (6, "remote process exited or there was a network error"),
    (8, "timeout"),
];

/// Keys that only a status has.
const MARKS: [&str; 2] = ["nccl_version", "communicators_count"];

pub(super) fn status(text: &str) -> Option<RasStatus> {
    let begin = text.find('{')?;
    let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    // Other documents have a list of communicators, too.
    if !MARKS.iter().any(|mark| value.get(mark).is_some()) {
        return None;
    }
    let all = value.get("communicators")?.as_array()?;
    Some(RasStatus {
        taken: value.get("timestamp").and_then(Value::as_str).map(str::to_owned),
        communicators: all.iter().filter_map(communicator).collect(),
        dead: Vec::new(),
    })
}

fn communicator(value: &Value) -> Option<RasCommunicator> {
    let hash = value.get("hash")?.as_str()?.trim_start_matches("0x");
    let list = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let ranks = list("ranks");
    let mut launched: BTreeMap<(String, u64), Vec<RasProcess>> = BTreeMap::new();
    for rank in &ranks {
        let counts = rank.get("collective_counts").and_then(Value::as_object);
        for (function, count) in counts.into_iter().flatten() {
            let key = (function.clone(), count.as_u64()?);
            launched.entry(key).or_default().push(process(rank));
        }
    }
    let missing = list("missing_ranks");
    Some(RasCommunicator {
        hash: u64::from_str_radix(hash, 16).ok()?,
        size: value.get("size").and_then(Value::as_u64).and_then(|size| size.try_into().ok()),
        launched: launched
            .into_iter()
            .map(|((function, count), named)| Launched {
                function,
                count,
                ranks: named.len() as u64,
                named,
            })
            .collect(),
        missing: missing.iter().map(missing_rank).collect(),
        failed: ranks.iter().filter_map(failed).collect(),
    })
}

fn process(rank: &Value) -> RasProcess {
    let number = |key: &str| rank.get(key).and_then(Value::as_u64)?.try_into().ok();
    let host = rank.get("host").and_then(Value::as_str).filter(|host| *host != "unknown");
    RasProcess { rank: number("rank"), host: host.map(str::to_owned), pid: number("pid") }
}

fn flag(rank: &Value, key: &str) -> bool {
    let value = rank.get("status").and_then(|status| status.get(key));
    value.is_some_and(|value| value == &Value::Bool(true) || value.as_u64() == Some(1))
}

fn missing_rank(rank: &Value) -> Missing {
    Missing { process: process(rank), is_dead: flag(rank, "considered_dead") }
}

fn failed(rank: &Value) -> Option<(RasProcess, String)> {
    let status = rank.get("status")?;
    let codes = ["async_error", "init_state"].iter().filter_map(|key| status.get(key)?.as_u64());
    let code = codes.into_iter().find(|code| !NO_ERRORS.contains(code))?;
    let name = ERRORS.iter().find(|(known, _)| *known == code).map(|(_, name)| *name);
    Some((process(rank), name.map_or_else(|| format!("error {code}"), str::to_owned)))
}
