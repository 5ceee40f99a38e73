//! How long GPUs worked on collectives, by their own timers, and which rank that shows to be late.
//!
//! A kernel begins when its rank is there, and waits for the others. So the rank that the others wait for has
//! the shortest kernel, also where ranks share a node and have no proxy. That alone would name who was late
//! to leave the collective before, as where its data was lost: a late rank also took longer from the end
//! of the kernel before to the begin of this one. Time in which the GPU worked for another communicator
//! does not count. Lengths are compared, never the timers of two GPUs.

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
    /// From the end of the communicator's kernel before, without the time in which the GPU worked for others.
    own_ns: u64,
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

    /// Kernels of collectives in which all ranks do the same, but the first one of each communicator, with
    /// the number of that.
    pub(super) fn ran(&self) -> Vec<(u32, CollectiveKey, Ran)> {
        let timed = self.collectives.values().filter_map(|one| Some((one, one.kernel?)));
        let mut timed: Vec<_> = timed.collect();
        timed.sort_by_key(|(_, run)| run.begin_ns);
        let busy = Busy::new(timed.iter().map(|(_, run)| (run.begin_ns, run.end_ns)));
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        let mut all = Vec::new();
        for (one, run) in timed {
            let before = ends.insert(one.comm, run.end_ns);
            let Some(before_ns) = before.filter(|_| IS_EQUAL.contains(&one.key.0)) else {
                continue;
            };
            let since_ns = run.begin_ns.saturating_sub(before_ns);
            let own_ns = since_ns.saturating_sub(busy.within(before_ns, run.begin_ns));
            let ahead_ns = one.called.map(|call| run.seen_ns.saturating_sub(call.time_ns));
            all.push((one.comm, one.key, Ran { length_ns: run.length_ns(), own_ns, ahead_ns }));
        }
        all
    }
}

/// When a GPU worked: spans that do not touch, each with the time in those before it.
#[derive(Debug, Default)]
struct Busy(Vec<(u64, u64, u64)>);

impl Busy {
    /// Of kernels in order of their begins.
    fn new(runs: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut spans: Vec<(u64, u64, u64)> = Vec::new();
        for (begin, end) in runs {
            match spans.last_mut() {
                Some((_, last, _)) if begin <= *last => *last = end.max(*last),
                last => {
                    let before = last.map_or(0, |(first, end, before)| *before + (*end - *first));
                    spans.push((begin, end.max(begin), before));
                }
            }
        }
        Self(spans)
    }

    /// How long it worked until `time`.
    fn until(&self, time: u64) -> u64 {
        let begun = self.0.partition_point(|(begin, ..)| *begin < time);
        let last = begun.checked_sub(1).and_then(|at| self.0.get(at));
        last.map_or(0, |(begin, end, before)| before + (time.min(*end) - begin))
    }

    fn within(&self, from: u64, to: u64) -> u64 {
        self.until(to).saturating_sub(self.until(from))
    }
}

/// The lower median of all values but one, by its place.
struct Others {
    sorted: Vec<u64>,
}

impl Others {
    fn new(values: impl Iterator<Item = u64>) -> Self {
        let mut sorted: Vec<u64> = values.collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    fn without(&self, own: u64) -> u64 {
        let middle = self.sorted.len().saturating_sub(2) / 2;
        let place = self.sorted.partition_point(|value| *value < own);
        let at = if place <= middle { middle + 1 } else { middle };
        self.sorted.get(at).copied().unwrap_or(own)
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
        let lengths = Others::new(row.values().map(|ran| ran.length_ns));
        let own = Others::new(row.values().map(|ran| ran.own_ns));
        for (rank, ran) in row {
            let shorter_ns = lengths.without(ran.length_ns).saturating_sub(ran.length_ns);
            let longer_ns = ran.own_ns.saturating_sub(own.without(ran.own_ns));
            let late_ns = shorter_ns.min(longer_ns);
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

    /// A rank that calls each of six collectives `called_ms` after their begin, begins its kernel at `begin_ms`,
    /// and ends it at `end_ms`.
    fn until(called_ms: u64, begin_ms: u64, end_ms: u64) -> ProcessRecords {
        let mut process = ProcessRecords::default();
        for number in 0..6 {
            let at = |ms: u64| (u64::from(number) * 1000 + 1000 + ms) * MS;
            let call = fixture::call(1, number + 1, at(called_ms));
            process.take_record(crate::decode::profiler::Record::Collective(call));
            let lasted_ns = (end_ms - begin_ms) * MS;
            // GPUs' timers have nothing to do with the host's clock.
            let timer_ns = Some([at(begin_ms), at(end_ms)].map(|ns| ns + 77));
            let one = kernel(1, number + 1, timer_ns);
            process.kernel(&Kernel { time_ns: at(end_ms), lasted_ns, ..one });
        }
        process
    }

    fn process(called_ms: u64, begin_ms: u64) -> ProcessRecords {
        until(called_ms, begin_ms, 100)
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
        for number in 0..6_u32 {
            let at = |ms: u64| (u64::from(number) * 1000 + 1000 + ms) * MS;
            held_up.kernel(&kernel(2, 100 + number, Some([at(1), at(51)])));
        }
        let ranks = [process(0, 1), held_up, process(0, 1)];
        assert_eq!(judged(&ranks), None);
    }

    #[test]
    fn who_left_the_collective_before_late_is_not_late() {
        // Its data was lost, so that it ends 50 ms after the others, and begins the next one as much later.
        let ranks = [process(0, 1), until(50, 51, 150), process(0, 1)];
        assert_eq!(judged(&ranks), None);
    }

    #[test]
    fn kernels_that_overlap_count_once() {
        let busy = Busy::new([(0, 100), (10, 20), (50, 110), (200, 210)].into_iter());
        assert_eq!(busy.within(20, 110), 90);
        assert_eq!(busy.within(0, 300), 120);
        assert_eq!(busy.within(105, 205), 10);
        assert_eq!(busy.within(120, 190), 0);
        assert_eq!(Busy::default().within(1, 9), 0);
    }

    #[test]
    fn a_median_leaves_one_out() {
        let others = Others::new([5, 1, 9, 7].into_iter());
        assert_eq!([1, 5, 7, 9].map(|own| others.without(own)), [7, 7, 5, 5]);
        let two = Others::new([3, 8].into_iter());
        assert_eq!([3, 8].map(|own| two.without(own)), [8, 3]);
        let equal = Others::new([4, 4, 4].into_iter());
        assert_eq!(equal.without(4), 4);
    }
}
