//! The agent on a kernel before 6.6, where its programs are traffic control filters, or in the driver of a mirror
//! port.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::definition::Scenario;
use crate::lab::facts::Facts;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "filters",
    about: "railscope agent on Linux 6.1: kernel programs as filters, a job that they see, a killed agent",
    limit: 400,
    needs_verbs: true,
    has_older_kernel: true,
    check,
};

/// Both programs, once each.
const PROGRAMS: &str = "packets_in\npackets_out\n";

/// Arguments of the driver.
const COLLECTIVES: usize = 6;

fn check(folder: &Path, _: &Path, facts: &mut Facts) -> Result<()> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    for (moment, programs) in
        [("first", PROGRAMS), ("killed", PROGRAMS), ("next", PROGRAMS), ("ended", "")]
    {
        facts.about(moment);
        facts.equal("programs at eth0", read(moment)?.as_str(), programs);
    }
    facts.about("mirror port");
    let log = read("mirror.log")?;
    facts.holds(log.contains("mirror0 is read in its driver"), || format!("says {log}"));
    facts.holds(!folder.join("still_in_driver").exists(), || "its program stays behind".to_owned());

    facts.about("sources");
    let metrics = read("metrics")?;
    let is_packets =
        |line: &&str| line.starts_with("railscope_source_visible{") && line.contains("\"ebpf\"");
    let visible: Vec<_> = metrics.lines().filter(is_packets).collect();
    facts.holds(visible.len() == 1 && visible[0].ends_with(" 1"), || {
        format!("do not run: {visible:?}")
    });
    let report: Value = serde_json::from_str(&read("report")?).context("read report")?;
    let health = report["health"].as_object().context("the report has no health")?;
    // Frames of other protocols, such as ARP, are no loss.
    let is_loss = |counter: &str| counter.starts_with("ebpf.") && counter != "ebpf.unused_frames";
    let lost: Vec<_> = health.iter().filter(|(counter, _)| is_loss(counter)).collect();
    facts.holds(lost.is_empty(), || format!("lose: {lost:?}"));

    facts.about("job");
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let communicators = list("communicators");
    facts.equal("communicators", communicators.len(), 1);
    let communicator = communicators.first().unwrap_or(&Value::Null);
    facts.equal("ranks", communicator["nranks"].as_u64(), Some(2));
    facts.equal("grade", communicator["grade"].as_str(), Some("proven"));
    let collectives = list("collectives");
    let is_all_reduce = |collective: &&Value| collective["kind"] == "all_reduce";
    let all_reduces = collectives.iter().filter(is_all_reduce).count();
    facts.equal("AllReduces", all_reduces, COLLECTIVES);
    facts.equal("collectives", collectives.len(), COLLECTIVES);
    Ok(())
}
