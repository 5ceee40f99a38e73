//! Which names there are: of hosts, pods, users, as reports, logs and the user say.

use std::net::{IpAddr, SocketAddr};

use anyhow::Context;
use serde_json::Value;

use crate::scrub::pseudonym::Pseudonyms;
use crate::scrub::words::is_known as is_known_word;
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

/// The host that NCCL's lines begin with: `host:pid:tid`.
fn hosts_of_nccl(line: &str) -> impl Iterator<Item = &str> {
    let before = line.split_once(" NCCL ").map_or("", |(before, _)| before);
    before.split_whitespace().filter_map(|word| {
        let (host, rest) = word.split_once(':')?;
        let pid = rest.split(':').next()?;
        let is_number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(host)
    })
}

/// Whether NCCL wrote a line.
pub(super) fn is_of_nccl(line: &str) -> bool {
    hosts_of_nccl(line).next().is_some()
}

/// Settings of NCCL whose values users make up.
const NAMING_SETTINGS: [&str; 6] = [
    "NCCL_COMM_NAME",
    "NCCL_HOSTID",
    "NCCL_NET_PLUGIN",
    "NCCL_TUNER_PLUGIN",
    "NCCL_PROFILER_PLUGIN",
    "NCCL_NET",
];

/// How the files of plugins begin.
const PLUGINS: [&str; 3] = ["libnccl-net-", "libnccl-tuner-", "libnccl-profiler-"];

/// Names in one of NCCL's lines: its host, peers (`host<port>`), values of settings, plugins.
fn of_nccl(line: &str, pseudonyms: &mut Pseudonyms) {
    hosts_of_nccl(line).for_each(|host| add(host, pseudonyms));
    // Launchers write the host before a line.
    let before = line.split_once(" NCCL ").map_or("", |(before, _)| before);
    let labels = before.split_whitespace().filter_map(|word| word.strip_suffix(':'));
    labels.for_each(|label| add(label, pseudonyms));
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    for (at, _) in line.match_indices('<') {
        let before = line.get(..at).unwrap_or_default();
        let behind = line.get(at + 1..).unwrap_or_default();
        let port = behind.split('>').next().unwrap_or_default();
        if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
            let peer = before.get(before.trim_end_matches(is_plain).len()..).unwrap_or_default();
            add(peer, pseudonyms);
        }
    }
    if let Some((before, value)) = line.split_once(" set by environment to ") {
        let setting = before.split_whitespace().next_back().unwrap_or_default();
        let value = value.trim_end_matches('.').trim_matches('"');
        let is_usual = is_known_word(value) || value.starts_with("lib");
        if NAMING_SETTINGS.contains(&setting) && !is_usual {
            add(value, pseudonyms);
        }
    }
    for prefix in PLUGINS {
        for (at, _) in line.match_indices(prefix) {
            let rest = line.get(at + prefix.len()..).unwrap_or_default();
            let name = rest.split(".so").next().unwrap_or_default();
            if name.chars().all(is_plain) && !is_known_word(name) {
                add(name, pseudonyms);
            }
        }
    }
}

/// Adds the names in a line.
pub(super) fn of_line(line: &str, pseudonyms: &mut Pseudonyms) {
    of_nccl(line, pseudonyms);
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
