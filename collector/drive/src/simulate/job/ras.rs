//! The status of NCCL's RAS, as a process of the job that still runs answers it
//! (NCCL 2.28.7 and later `src/ras/client_support.cc`, its JSON form).
//!
//! It is asked when the job has stood still for so long that RAS gave up what does not answer.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::TrainingJob;
use crate::collective::Kind;
use crate::simulate::time::VirtualTime;

/// After a simulation ends, in seconds: RAS gives a process up after 60 s, and should be asked again no
/// sooner than after 10 s.
pub const ASKED_AFTER_S: [u64; 2] = [65, 75];

/// `ncclRemoteError`: a queue pair had no answer to any of its retries.
const REMOTE_ERROR: u32 = 6;

/// What RAS knows of the communicator of a job.
#[derive(Clone, Debug)]
pub struct Members {
    /// Its `commHash`.
    pub comm_hash: u64,
    /// Address and PID of each rank.
    pub processes: Vec<(IpAddr, u32)>,
}

impl TrainingJob {
    /// What RAS answers at `taken`, a local time, about a job whose ranks have stood still since `now`;
    /// `None` if no process is left to answer. `processes` are addresses and PIDs of the ranks, `is_reachable`
    /// says whether the host of a rank is: RAS shares its link.
    #[must_use]
    pub fn ras(
        &self,
        Members { comm_hash, processes }: &Members,
        is_reachable: &dyn Fn(usize) -> bool,
        now: VirtualTime,
        taken: &str,
    ) -> Option<String> {
        let answers = |rank: &usize| self.halts.is_running(*rank, now) && is_reachable(*rank);
        let (running, silent): (Vec<usize>, Vec<usize>) = (0..self.ranks.len()).partition(answers);
        if running.is_empty() {
            return None;
        }
        let place = |rank: usize| processes.get(rank).copied();
        let missing: Vec<Value> = silent
            .iter()
            .map(|rank| {
                let mut one = identity(*rank, place(*rank));
                one["status"] = json!({"unresponsive": true, "considered_dead": true});
                one
            })
            .collect();
        let answering: Vec<Value> = running
            .iter()
            .map(|rank| {
                let mut one = identity(*rank, place(*rank));
                let error = if self.lacks_answers(*rank) { REMOTE_ERROR } else { 0 };
                one["status"] = json!({
                    "init_state": 0, "async_error": error, "finalize_called": false,
                    "destroy_flag": false, "abort_flag": false,
                });
                one["collective_counts"] = self.counts(*rank);
                one
            })
            .collect();
        let communicator = json!({
            "hash": format!("{comm_hash:#x}"), "secondary_hash": "0x1:0x2", "size": self.ranks.len(),
            "ranks_count": answering.len(), "missing_ranks_count": missing.len(),
            "ranks": answering, "missing_ranks": missing,
        });
        let status = json!({
            "nccl_version": self.plan.nccl.to_string(), "timestamp": taken, "communicators_count": 1,
            "communicators": [communicator],
            "ras": {"collection_time_sec": 0.002, "timeouts_count": silent.len()},
        });
        Some(status.to_string())
    }

    /// Collectives that a rank has launched, by function.
    fn counts(&self, rank: usize) -> Value {
        let at = self.ranks.get(rank);
        let called = at.map(|at| at.called.as_slice()).unwrap_or_default();
        let is_broadcast = |collective: &usize| {
            let odd = at.and_then(|at| at.odd.get(collective));
            odd.is_some_and(|operation| operation.kind == Kind::Broadcast)
        };
        let broadcasts = called.iter().filter(|(collective, _)| is_broadcast(collective)).count();
        json!({
            "Broadcast": broadcasts, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0,
            "AllReduce": called.len() - broadcasts,
        })
    }

    /// Whether data that a rank sent was not acknowledged, and never will be.
    fn lacks_answers(&self, rank: usize) -> bool {
        let mut own = self.edges.iter().filter(|edge| edge.sender as usize == rank);
        own.any(|edge| edge.network.is_some() && edge.is_unanswered())
    }
}

fn identity(rank: usize, place: Option<(IpAddr, u32)>) -> Value {
    let (host, pid) = place.unzip();
    let host = host.map_or_else(|| "unknown".to_owned(), |host| host.to_string());
    json!({"rank": rank, "host": host, "pid": pid, "cuda_dev": 0, "nvml_dev": 0})
}
