//! How long GPUs worked on collectives, by their own timers, and which rank that shows to be late.
//!
//! A kernel begins when its rank is there, and all ranks of a collective end about together. So the rank
//! that the others wait for has the shortest kernel, also where ranks share a node and have no proxy.
//! Lengths are compared, never the timers of two GPUs. A GPU that worked for another communicator before
//! was not late by itself.

use std::collections::BTreeMap;

use super::late::{IS_EQUAL, LEAST_NS, Late, Lateness, ShownBy};
use super::tally::Tallies;
use super::{CollectiveKey, ProcessRecords, WaitSum};
use crate::decode::profiler::Kernel;

/// The kernel of a collective: from the first channel's begin to the last one's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelRun {
    /// Nanoseconds of the GPU's timer.
    begin_ns: u64,
    end_ns: u64,
    /// When NCCL saw it begin, in nanoseconds of the monotonic clock.
    seen_ns: u64,
}

impl KernelRun {
    const fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// The kernel of a rank in a collective, to be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ran {
    length_ns: u64,
    /// The GPU worked for other communicators for so long since the kernel before.
    elsewhere_ns: u64,
    /// From the call to its begin; `None` if the call was not recorded.
    ahead_ns: Option<u64>,
}

/// Kernels of a communicator, by collective and rank.
pub(super) type Rows = BTreeMap<CollectiveKey, BTreeMap<u32, Ran>>;

impl ProcessRecords {
    /// Takes the kernel of a channel. Without the GPU's timer it says nothing: NCCL's thread sees it late.
    pub(super) fn kernel(&mut self, kernel: &Kernel) {
        let Some([begin_ns, end_ns]) = kernel.timer_ns.filter(|_| kernel.collective != 0) else {
            return;
        };
        let seen_ns = kernel.time_ns.saturating_sub(kernel.lasted_ns);
        let all = self.collective(kernel.collective);
        all.comm = kernel.comm;
        let run = all.kernel.get_or_insert(KernelRun { begin_ns, end_ns, seen_ns });
        run.begin_ns = run.begin_ns.min(begin_ns);
        run.end_ns = run.end_ns.max(end_ns);
        run.seen_ns = run.seen_ns.min(seen_ns);
    }

    /// Kernels of the collectives of communicator number `comm` that are remembered.
    #[must_use]
    pub fn kernels_of(&self, comm: u32) -> WaitSum {
        let of = self.collectives.values().filter(|one| one.comm == comm);
        let mut sum = WaitSum::default();
        for run in of.filter_map(|one| one.kernel) {
            sum.add(run.length_ns());
        }
        sum
    }

    /// Kernels of collectives in which all ranks do the same, with the number of their communicator.
    pub(super) fn ran(&self) -> Vec<(u32, CollectiveKey, Ran)> {
        let timed = self.collectives.values().filter_map(|one| Some((one, one.kernel?)));
        let mut timed: Vec<_> = timed.collect();
        timed.sort_by_key(|(_, run)| run.begin_ns);
        let mut busy = Busy::default();
        let mut all = Vec::new();
        for (one, run) in timed {
            let elsewhere_ns = busy.elsewhere_ns(one.comm, &run);
            let ahead_ns = one.called.map(|call| run.seen_ns.saturating_sub(call.time_ns));
            if IS_EQUAL.contains(&one.key.0) {
                let ran = Ran { length_ns: run.length_ns(), elsewhere_ns, ahead_ns };
                all.push((one.comm, one.key, ran));
            }
        }
        all
    }
}

/// How long a GPU has worked, by communicator, up to now. Kernels that overlap count once.
#[derive(Debug, Default)]
struct Busy {
    until_ns: u64,
    all_ns: u64,
    /// Of each communicator: its own share, and how long the others had worked when its last kernel ended.
    own: BTreeMap<u32, (u64, u64)>,
}

impl Busy {
    /// How long the GPU worked for others between the last kernel of `comm` and this one, which is added.
    fn elsewhere_ns(&mut self, comm: u32, run: &KernelRun) -> u64 {
        let new_ns = run.end_ns.saturating_sub(run.begin_ns.max(self.until_ns));
        let (own_ns, others_ns) = self.own.entry(comm).or_insert((0, self.all_ns));
        let since_ns = self.all_ns.saturating_sub(*own_ns).saturating_sub(*others_ns);
        *own_ns = own_ns.saturating_add(new_ns);
        self.all_ns = self.all_ns.saturating_add(new_ns);
        *others_ns = self.all_ns.saturating_sub(*own_ns);
        self.until_ns = self.until_ns.max(run.end_ns);
        since_ns
    }
}

/// The late rank of a communicator of so many ranks, and how many collectives were judged.
pub(super) fn judge(hash: u64, ranks: u32, rows: &Rows) -> (Option<Late>, u64) {
    let mut tallies = Tallies::default();
    for row in rows.values() {
        if ranks < 2 || u32::try_from(row.len()).ok() != Some(ranks) {
            continue;
        }
        tallies.judged(row.values().map(|ran| ran.length_ns).max().unwrap_or(0));
        for (rank, ran) in row {
            let others = |value: fn(&Ran) -> u64| {
                let others = row.iter().filter(|(other, _)| *other != rank);
                let mut values: Vec<u64> = others.map(|(_, ran)| value(ran)).collect();
                values.sort_unstable();
                values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
            };
            let shorter_ns = others(|ran| ran.length_ns).saturating_sub(ran.length_ns);
            let held_up_ns = ran.elsewhere_ns.saturating_sub(others(|ran| ran.elsewhere_ns));
            let late_ns = shorter_ns.saturating_sub(held_up_ns);
            if late_ns < LEAST_NS {
                continue;
            }
            let why = match ran.ahead_ns {
                Some(ahead_ns) if ahead_ns >= late_ns / 2 => Lateness::Gpu,
                Some(_) => Lateness::Enqueue,
                None => Lateness::Unknown,
            };
            tallies.late(*rank, late_ns, why);
        }
    }
    let late = tallies.named(hash).map(|late| Late { shown_by: ShownBy::Kernels, ..late });
    (late, tallies.judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::profiler::{Function, fixture};

    const MS: u64 = 1_000_000;

    fn kernel(comm: u32, collective: u32, timer_ns: Option<[u64; 2]>) -> Kernel {
        let function = Function(5);
        Kernel { channel: 0, function, collective, comm, time_ns: 9, lasted_ns: 9, timer_ns }
    }

    #[test]
    fn channels_of_a_collective_are_one_kernel() {
        let mut process = ProcessRecords::default();
        let channels = [(1, [100, 180]), (1, [90, 170]), (2, [200, 230]), (0, [1, 1_000])];
        for (collective, timer) in channels {
            process.kernel(&kernel(1, collective, Some(timer)));
        }
        process.kernel(&kernel(1, 3, None));
        assert_eq!(process.kernels_of(1), WaitSum { count: 2, total_ns: 120, longest_ns: 90 });
        assert_eq!(process.kernels_of(2), WaitSum::default());
    }

    /// A rank that calls each of five collectives `called_ms` after their begin, begins its kernel at `begin_ms`,
    /// and ends it at 100.
    fn process(called_ms: u64, begin_ms: u64) -> ProcessRecords {
        let mut process = ProcessRecords::default();
        for number in 1..6 {
            let at = |ms: u64| (u64::from(number) * 1000 + ms) * MS;
            let call = fixture::call(1, number, at(called_ms));
            process.take_record(crate::decode::profiler::Record::Collective(call));
            let lasted_ns = (100 - begin_ms) * MS;
            // GPUs' timers have nothing to do with the host's clock.
            let timer_ns = Some([at(begin_ms), at(100)].map(|ns| ns + 77));
            let one = kernel(1, number, timer_ns);
            process.kernel(&Kernel { time_ns: at(100), lasted_ns, ..one });
        }
        process
    }

    fn judged(processes: &[ProcessRecords]) -> Option<(u32, Lateness, u64)> {
        let mut rows = Rows::new();
        for (rank, process) in (0..).zip(processes) {
            for (comm, key, ran) in process.ran() {
                if comm == 1 {
                    rows.entry(key).or_default().insert(rank, ran);
                }
            }
        }
        let ranks = u32::try_from(processes.len()).unwrap();
        let (late, judged) = judge(7, ranks, &rows);
        assert_eq!(judged, 5);
        late.map(|late| (late.rank, late.why, late.late_ns / 5 / MS))
    }

    #[test]
    fn the_shortest_kernel_is_that_of_the_late_rank() {
        let in_time = || process(0, 1);
        let gpu = [in_time(), in_time(), process(0, 51), in_time()];
        assert_eq!(judged(&gpu), Some((2, Lateness::Gpu, 50)));
        let cpu = [in_time(), process(49, 51)];
        assert_eq!(judged(&cpu), Some((1, Lateness::Enqueue, 50)));
        assert_eq!(judged(&[in_time(), in_time(), process(0, 1)]), None);
        // Two are late: which of them is not certain.
        assert_eq!(judged(&[in_time(), process(0, 51), process(0, 50), in_time()]), None);
    }

    #[test]
    fn a_gpu_that_worked_for_another_communicator_is_not_late() {
        let mut held_up = process(0, 51);
        for number in 1..6_u32 {
            let at = |ms: u64| (u64::from(number) * 1000 + ms) * MS;
            held_up.kernel(&kernel(2, 100 + number, Some([at(1), at(51)])));
        }
        let ranks = [process(0, 1), held_up, process(0, 1)];
        assert_eq!(judged(&ranks), None);
    }

    #[test]
    fn kernels_that_overlap_count_once() {
        let mut busy = Busy::default();
        let mut ran = |comm, begin_ns, end_ns| {
            busy.elsewhere_ns(comm, &KernelRun { begin_ns, end_ns, seen_ns: 0 })
        };
        assert_eq!(ran(1, 0, 10), 0);
        assert_eq!(ran(2, 10, 30), 0, "its first one: what was before is not its own");
        assert_eq!(ran(3, 20, 40), 0);
        assert_eq!(ran(1, 50, 60), 30);
        assert_eq!(ran(2, 60, 70), 20);
    }
}
