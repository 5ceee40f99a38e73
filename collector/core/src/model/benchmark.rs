//! Results of benchmarks of collectives, as nccl-tests prints them.

/// A table of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Benchmark {
    /// What ran: `all_reduce`; `None` if neither the text nor the figures say.
    pub operation: Option<String>,
    /// Release of nccl-tests, if it prints one.
    pub version: Option<String>,
    /// Ranks, as listed or as the two bandwidths imply.
    pub nranks: Option<u32>,
    /// Hosts, if ranks were listed.
    pub hosts: Option<u32>,
    /// Sizes in the order of the table.
    pub rows: Vec<Row>,
    /// Average bus bandwidth as printed at the end, bytes per second.
    pub average_bus_bandwidth: Option<u64>,
}

/// One size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bytes of the buffer, as nccl-tests counts them.
    pub bytes: u64,
    /// It reduces: its operator is not `none`.
    pub reduces: bool,
    /// Its root; -1 if it has none; `None` in older tables.
    pub root: Option<i32>,
    /// With two buffers.
    pub out_of_place: Option<Figures>,
    /// With one.
    pub in_place: Option<Figures>,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Time of one call, in nanoseconds.
    pub time_ns: u64,
    /// Bytes of the buffer per second.
    pub algorithm_bandwidth: u64,
    /// The same by what each link carries: comparable with the line rate (nccl-tests,
    /// `PERFORMANCE.md`).
    pub bus_bandwidth: u64,
    /// Wrong values; `None` if they were not checked.
    pub wrong: Option<u64>,
}

/// Bandwidths below this are rounded too much to be compared: two decimals of 10^9 bytes.
const COMPARABLE: u64 = 1_000_000_000;

impl Row {
    /// The better of both ways.
    #[must_use]
    pub fn best(&self) -> Option<Figures> {
        let both = self.out_of_place.into_iter().chain(self.in_place);
        both.max_by_key(|figures| figures.bus_bandwidth)
    }
}

impl Benchmark {
    /// The row with the highest bus bandwidth.
    #[must_use]
    pub fn peak(&self) -> Option<&Row> {
        let bandwidth = |row: &&Row| row.best().map(|figures| figures.bus_bandwidth);
        self.rows.iter().max_by_key(bandwidth)
    }

    /// The smallest size that is not empty: it shows latency.
    #[must_use]
    pub fn smallest(&self) -> Option<&Row> {
        self.rows.iter().filter(|row| row.bytes > 0).min_by_key(|row| row.bytes)
    }

    /// Wrong values over all rows; `None` if none was checked.
    #[must_use]
    pub fn wrong(&self) -> Option<u64> {
        let figures =
            self.rows.iter().flat_map(|row| row.out_of_place.into_iter().chain(row.in_place));
        figures.filter_map(|figures| figures.wrong).reduce(u64::saturating_add)
    }

    /// Derives what the text does not say from the factor between the two bandwidths: 2(n - 1)/n of
    /// AllReduce, (n - 1)/n of AllGather, ReduceScatter and AlltoAll, 1 of the others.
    pub(crate) fn complete(&mut self) {
        let Some(row) = self.peak().copied() else { return };
        let Some(figures) = row.best().filter(|best| best.algorithm_bandwidth >= COMPARABLE) else {
            return;
        };
        let factor = figures.bus_bandwidth as f64 / figures.algorithm_bandwidth as f64;
        let is_rooted = row.root.is_some_and(|root| root >= 0);
        // A factor above 1 is AllReduce's; of two ranks it is 1, as that of a Reduce.
        let of_two = self.nranks == Some(2) && (factor - 1.0).abs() < 0.02 && row.root.is_some();
        let is_all_reduce = row.reduces && !is_rooted && (factor > 1.02 || of_two);
        if self.operation.is_none() && is_all_reduce {
            self.operation = Some("all_reduce".to_owned());
        }
        let share = match self.operation.as_deref() {
            Some("all_reduce") => factor / 2.0,
            Some("all_gather" | "reduce_scatter" | "alltoall") => factor,
            _ => return,
        };
        // Two decimals identify small numbers of ranks only.
        let ranks = 1.0 / (1.0 - share);
        if self.nranks.is_none() && (1.5..9.5).contains(&ranks) {
            self.nranks = Some(ranks.round() as u32);
        }
    }
}
