//! Which names there are: of hosts, pods, users, as reports, logs and the user say.

use std::net::{IpAddr, SocketAddr};

use anyhow::Context;
use serde_json::Value;

use crate::scrub::pseudonym::Pseudonyms;
use railscope_core::report::Report;

/// Keys of a report whose strings are names.
const NAME_KEYS: [&str; 14] = [
    "host",
    "hosts",
    "hostname",
    "node",
    "place",
    "pod",
    "pod_name",
    "pod_namespace",
    "namespace",
    "container",
    "container_name",
    "user",
    "slurm_job_name",
    "job_name",
];

/// Sections of a report in which `name` is a host's.
const NAMED_SECTIONS: [&str; 2] = ["hosts", "nodes"];

/// Words that are no names, though they stand where names do.
const NO_NAMES: [&str; 16] = [
    "localhost",
    "unknown",
    "none",
    "null",
    "root",
    "default",
    "all",
    "node",
    "host",
    "rank",
    "this",
    "local",
    "info",
    "job",
    "scrubbed",
    "true",
];

/// Adds a name and, of a domain name, its parts.
pub(super) fn add(name: &str, pseudonyms: &mut Pseudonyms) {
    let name = name.trim();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_address = name.parse::<IpAddr>().is_ok() || name.parse::<SocketAddr>().is_ok();
    if is_address || name.is_empty() || !name.chars().all(is_plain) {
        return;
    }
    let has_letter = |part: &str| part.chars().any(char::is_alphabetic);
    if !has_letter(name) || NO_NAMES.contains(&name.to_ascii_lowercase().as_str()) {
        return;
    }
    pseudonyms.add_name(name);
    if name.contains('.') {
        let parts = name.split('.').filter(|part| part.len() > 3 && has_letter(part));
        parts.for_each(|part| pseudonyms.add_name(part));
    }
}

/// Adds the names in a report.
pub(super) fn of_report(report: &Report, pseudonyms: &mut Pseudonyms) -> anyhow::Result<()> {
    let value = serde_json::to_value(report).context("read the report")?;
    let Value::Object(sections) = &value else { return Ok(()) };
    for (section, content) in sections {
        collect(content, NAMED_SECTIONS.contains(&section.as_str()), false, pseudonyms);
    }
    Ok(())
}

fn collect(value: &Value, is_named: bool, is_name: bool, pseudonyms: &mut Pseudonyms) {
    match value {
        Value::String(text) if is_name => add(text, pseudonyms),
        Value::Array(all) => all.iter().for_each(|one| collect(one, is_named, is_name, pseudonyms)),
        Value::Object(fields) => {
            for (key, one) in fields {
                let key = key.as_str();
                let is_name = NAME_KEYS.contains(&key) || (is_named && key == "name");
                collect(one, is_named, is_name, pseudonyms);
            }
        }
        _ => {}
    }
}

/// Adds the name that a line begins with: NCCL writes `host:pid:tid`.
pub(super) fn of_line(line: &str, pseudonyms: &mut Pseudonyms) {
    if let Some((before, _)) = line.split_once(" NCCL ") {
        for word in before.split_whitespace() {
            let mut parts = word.split(':');
            let (host, pid) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) {
                add(host, pseudonyms);
            }
        }
    }
    for key in [
        "\"host\":\"",
        "\"host\": \"",
        "\"hostname\":\"",
        "\"hostname\": \"",
        "\"pod\":\"",
        "\"user\":\"",
    ] {
        for (at, _) in line.match_indices(key) {
            let rest = line.get(at + key.len()..).unwrap_or_default();
            add(rest.split('"').next().unwrap_or_default(), pseudonyms);
        }
    }
    for key in [
        "hostname=",
        "HOSTNAME=",
        "host=",
        "user=",
        "USER=",
        "LOGNAME=",
        "pod=",
        "SLURMD_NODENAME=",
        "SLURM_JOB_NAME=",
    ] {
        for (at, _) in line.match_indices(key) {
            let rest = line.get(at + key.len()..).unwrap_or_default();
            let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | ')' | '\'');
            add(rest.split(is_end).next().unwrap_or_default(), pseudonyms);
        }
    }
}

/// Names of files often have the host's: those parts of it that are known names stay known. A folder below
/// a home names a user.
pub(super) fn of_file_name(name: &str, pseudonyms: &mut Pseudonyms) {
    // What `text::line` learns of paths.
    let _ = crate::scrub::text::line(name, pseudonyms);
}
