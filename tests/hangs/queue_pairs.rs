//! The kernel's list of queue pairs on the host of the rank that hangs, beside the packets of all hosts.

use railscope_core::decode::nccl::unique_id;
use railscope_core::model::call::{Action, Call, Caller, CommunicatorHandle, Returned};
use railscope_core::model::qpn::Qpn;
use railscope_core::model::queue_pair::{
    HostQueuePair, QueuePairKind, QueuePairOwner, QueuePairState,
};
use railscope_core::model::time::Timestamp;
use railscope_core::report::{Report, ReportContext};

use super::simulated::simulate;
use crate::support::pipeline;

/// The report where the kernel of rank 2's host lists a queue pair of its process in this state.
fn report(fault: &str, state: QueuePairState) -> Report {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), fault);
    let mut pipeline = pipeline::small();
    let names = (0..4).map(|host| folder.path().join(format!("job/host{host}.pcapng")));
    pipeline::feed(&mut pipeline, &names.collect::<Vec<_>>());
    let known = pipeline.clone().understand();
    let job = known.state.job.as_ref().unwrap();
    let magic = *job.magics.keys().next().unwrap();
    let pid = job.communicators[0].ranks[2].pid.unwrap();
    let time = Timestamp::from_nanos(1);
    pipeline.processes_mut().observe(&Call {
        caller: Caller { pid, tid: pid, cgroup: 0, payer: 0 },
        time,
        returned: Some(Returned { time, is_success: true, code: Some(0) }),
        action: Action::Initialise {
            nranks: 4,
            rank: 2,
            id: Some(unique_id::from_magic(magic, "192.0.2.1:9".parse().unwrap())),
            ids: 1,
            communicator: Some(CommunicatorHandle(1)),
        },
    });
    pipeline.processes_mut().observe_queue_pairs([HostQueuePair {
        device: "mlx5_0".to_owned(),
        port: Some(1),
        local: Qpn::new(0x105),
        remote: Some(Qpn::new(0x106)),
        kind: QueuePairKind::ReliableConnection,
        state,
        owner: QueuePairOwner::Process(pid),
    }]);
    pipeline.finish(ReportContext::default())
}

fn classes(report: &Report) -> (&str, Option<&str>, &str) {
    let verdict = &report.verdicts[0];
    (verdict.id, verdict.alternatives.first().copied(), verdict.grade)
}

/// Packets leave that its GPU or its process stands still.
#[test]
fn a_queue_pair_in_error_is_the_cause_at_its_own_end() {
    let fault = "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"gpu\"\n";
    let well = report(fault, QueuePairState::ReadyToSend);
    assert_eq!(classes(&well).0, "gpu_stuck", "{:?}", well.verdicts);
    let failed = report(fault, QueuePairState::Error);
    assert_eq!(classes(&failed), ("queue_pair_error", None, "proven"), "{:?}", failed.verdicts);
    assert_eq!(failed.verdicts[0].subject.rank, Some(2));
    let finding = failed.findings.iter().find(|one| one.id == "queue_pair_error").unwrap();
    let shown = &finding.evidence[0].text;
    assert!(shown.starts_with("the kernel lists mlx5_0 QPN 0x105 to 0x106 of process "), "{shown}");
    assert_eq!(failed.verdicts.iter().filter(|one| one.severity != "info").count(), 1);
}

/// Nothing else is known: the other end may be gone.
#[test]
fn a_queue_pair_in_error_alone_leaves_its_peer_open() {
    let healthy = report(
        "[[flap]]\nport = \"host3\"\nfrom = \"1h\"\nuntil = \"2h\"\n",
        QueuePairState::Error,
    );
    let verdict = &healthy.verdicts[0];
    let alternative = verdict.alternatives.first().copied();
    assert_eq!((verdict.id, alternative), ("queue_pair_error", Some("process_gone")));
    assert_eq!(verdict.grade, "inferred");
}

/// Its sends fail because nothing comes back.
#[test]
fn a_queue_pair_that_fails_for_want_of_answers_is_no_cause() {
    let fault = "[[flap]]\nport = \"host3\"\nfrom = \"120ms\"\nuntil = \"1h\"\n";
    let failed = report(fault, QueuePairState::Error);
    assert_eq!(classes(&failed).0, "port_down", "{:?}", failed.verdicts);
    assert_eq!(failed.verdicts.iter().filter(|one| one.severity != "info").count(), 1);
}
