//! The initialisation of a communicator took long, and not because of ranks that came late.

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;

/// Slow initialisation.
pub const KIND: Kind = Kind {
    id: "init_slow",
    about: "A rank spent long in the initialisation of its communicator, apart from the bootstrap, in \
            which ranks wait for each other.",
    threshold: "NCCL's `Init timings`: a total, without the bootstrap, above slow_bootstrap_s (10 s).",
    remedy: "Look at the longest part: `alloc` is CUDA (driver, cuMem, a busy or large host: nvidia-smi \
             -pm 1, NCCL_CUMEM_ENABLE=0 to compare), `kernels` loads code (CUDA_MODULE_LOADING=LAZY), \
             `topo` reads sysfs and NICs, `connections` makes queue pairs.",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let limit_ns = (facts.settings.findings.slow_bootstrap_s * 1e9) as u64;
    let processes = facts.state.logs.processes.iter().enumerate();
    let timings = processes.flat_map(|(at, process)| {
        let members = process.memberships.iter().enumerate();
        members.filter_map(move |(place, member)| {
            let init = member.setup.init.as_ref()?;
            let own_ns = init.total_ns.saturating_sub(init.part("bootstrap").unwrap_or(0));
            Some(((at, place), process, member, init, own_ns))
        })
    });
    let slow = timings.filter(|(.., own_ns)| *own_ns > limit_ns);
    let Some((place, process, member, init, _)) = slow.max_by_key(|(.., own_ns)| *own_ns) else {
        return Vec::new();
    };
    let communicator = facts.state.memberships.get(&place).copied();
    let claim = LoggedClaim::SlowInitialisation {
        communicator: communicator.and_then(|id| facts.identity_of(id)),
        rank: member.rank,
        host: process.host.clone(),
        took_ns: init.total_ns,
        longest: init.parts.iter().max_by_key(|(_, ns)| *ns).cloned(),
    };
    let subject = Subject { communicator, rank: Some(member.rank), ..Subject::default() };
    let finding = KIND.finding(Severity::Info, claim).about(subject).proven();
    vec![finding.because(Proof::log(LogObservation::InitTimings, init.witness))]
}
