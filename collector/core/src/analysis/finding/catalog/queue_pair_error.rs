//! A queue pair of a rank in error, as the kernel of its host lists it.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::CallObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, Rank, RankQueuePair};
use crate::model::grade::Grade;
use crate::model::queue_pair::QueuePairState;

/// Queue pairs in error.
pub const KIND: Kind = Kind {
    id: "queue_pair_error",
    about: "A queue pair that serves a communicator is in error: it neither sends nor answers any more, \
            and NCCL before 2.28 does not bring it back. Where the other end did not answer before, that is why; \
            where packets still arrive there, the fault is this rank's own.",
    threshold: "The kernel lists it in state ERR or SQE (sending failed) while its process runs, and it \
                serves a communicator by packets or by calls. NCCL destroys queue pairs without \
                putting them in error.",
    remedy: "Look at the process and its NIC: NCCL WARN with a completion status, dmesg of the NIC \
             driver. `rdma resource show qp` lists the queue pairs with their states.",
    needs: &[Need::Processes],
    detect,
};

/// Queue pairs named as evidence.
const SHOWN: usize = 4;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(job) = facts.job() else { return Vec::new() };
    let communicators = (0..).map(CommunicatorId).zip(&job.communicators);
    let ranks = communicators.flat_map(|(id, one)| one.ranks.iter().map(move |rank| (id, rank)));
    ranks.filter_map(|(id, rank)| finding(id, rank)).collect()
}

/// Whether it is in error, and certain to serve the communicator.
fn has_failed(pair: &&RankQueuePair) -> bool {
    let is_in_error =
        matches!(pair.state, Some(QueuePairState::Error | QueuePairState::SendQueueError));
    is_in_error && pair.device.is_some() && pair.grade > Grade::Unknown
}

fn finding(id: CommunicatorId, rank: &Rank) -> Option<Finding> {
    let failed: Vec<&RankQueuePair> = rank.queue_pairs.iter().filter(has_failed).collect();
    let serving = rank.queue_pairs.iter().filter(|pair| pair.grade > Grade::Unknown).count();
    let claim = TransportClaim::InError {
        rank: rank.rank,
        host: rank.place(),
        failed: failed.len() as u64,
        of: serving as u64,
    };
    let subject = Subject { communicator: Some(id), rank: Some(rank.rank), ..Subject::default() };
    let mut finding = KIND.finding(Severity::Critical, claim).about(subject).proven();
    for pair in failed.iter().take(SHOWN) {
        finding = finding.because(Proof::calls(CallObservation::InError {
            device: pair.device.clone()?,
            number: pair.number,
            remote: pair.remote,
            pid: rank.pid,
        }));
    }
    (!failed.is_empty()).then_some(finding)
}
