//! Processes of one job run different releases of NCCL.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::distinct;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::Process;
use crate::model::nccl::Release;

/// Releases differ.
pub const KIND: Kind = Kind {
    id: "releases_differ",
    about: "Ranks of one communicator run different releases of NCCL. Releases do not work together.",
    threshold: "Ranks of one communicator whose logs name different releases.",
    remedy: "Use one image on all hosts, and check LD_LIBRARY_PATH, LD_PRELOAD and pip's nvidia-nccl \
             package for a second libnccl; NCCL_DEBUG=VERSION prints the release of each process.",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let logs = &facts.state.logs;
    let mut by_communicator: BTreeMap<_, BTreeMap<Release, Vec<&Process>>> = BTreeMap::new();
    for ((at, _), id) in &facts.state.memberships {
        let Some(process) = logs.processes.get(*at) else { continue };
        if let Some(release) = process.release {
            let releases = by_communicator.entry(*id).or_default();
            releases.entry(release).or_default().push(process);
        }
    }
    let Some((_, releases)) = by_communicator.into_iter().find(|(_, one)| one.len() > 1) else {
        return Vec::new();
    };
    let named = releases.iter().map(|(release, processes)| {
        let hosts = distinct(processes.iter().map(|process| process.host.clone()));
        (release.to_string(), hosts)
    });
    let claim = LoggedClaim::ReleasesDiffer { releases: named.collect() };
    let mut finding = KIND.finding(Severity::Critical, claim).proven();
    for (release, processes) in &releases {
        if let Some(process) = processes.first() {
            let quote = LogObservation::Release(release.to_string());
            finding = finding.because(Proof::log(quote, process.first));
        }
    }
    vec![finding]
}
