//! Dumps of PyTorch's flight recorder, as ranks that still run write them when their watchdog gives up
//! (PyTorch 2.8 `torch/csrc/distributed/c10d/FlightRecorder.hpp`, its JSON form).

use serde_json::{Value, json};

use super::TrainingJob;
use crate::collective::Kind;
use crate::simulate::epoch::epoch_ns;
use crate::simulate::time::VirtualTime;

/// Calls that a dump holds, the latest: `TORCH_FR_BUFFER_SIZE`.
const CALLS: usize = 2000;

impl TrainingJob {
    /// The dumps of all ranks whose process runs at `now`.
    #[must_use]
    pub fn flight_recorder(&self, now: VirtualTime) -> Vec<(u32, String)> {
        let ranks = 0..self.ranks.len();
        let running = ranks.filter(|rank| self.halts.is_running(*rank, now));
        running.map(|rank| (rank as u32, self.dump(rank).to_string())).collect()
    }

    fn dump(&self, rank: usize) -> Value {
        let called = self.ranks.get(rank).map(|at| at.called.as_slice()).unwrap_or_default();
        let latest = called.iter().skip(called.len().saturating_sub(CALLS));
        let entries: Vec<Value> = latest
            .enumerate()
            .map(|(record, (collective, at))| self.entry(rank, record, *collective, *at))
            .collect();
        let all: Vec<usize> = (0..self.ranks.len()).collect();
        let group = json!({"name": "0", "desc": "default_pg", "ranks": format!("{all:?}")});
        json!({"version": "2.10", "pg_config": {"0": group}, "entries": entries})
    }

    fn entry(&self, rank: usize, record: usize, collective: usize, at: VirtualTime) -> Value {
        let caller = self.ranks.get(rank);
        let odd = caller.and_then(|at| at.odd.get(&collective));
        let operation = odd.or_else(|| self.schedule.collectives.get(collective));
        let count = operation.map_or(0, |operation| operation.count);
        let name = match operation.map(|operation| operation.kind) {
            Some(Kind::Broadcast) => "nccl:broadcast",
            _ => "nccl:all_reduce",
        };
        let call = caller.and_then(|at| at.calls.get(&collective));
        let has_begun = call.is_some_and(|call| call.kernel_began.is_some());
        let state = match call.map(|call| call.kernel_ended) {
            None | Some(Some(_)) => "completed",
            Some(None) if has_begun => "started",
            Some(None) => "scheduled",
        };
        json!({
            "record_id": record, "pg_id": 0, "process_group": ["0", "default_pg"],
            "collective_seq_id": collective + 1, "p2p_seq_id": 0, "op_id": collective + 1,
            "profiling_name": name, "time_created_ns": epoch_ns(at),
            "input_sizes": [[count]], "input_dtypes": ["Float"],
            "output_sizes": [[count]], "output_dtypes": ["Float"],
            "state": state, "retired": state == "completed", "timeout_ms": 600_000, "is_p2p": false,
        })
    }
}
