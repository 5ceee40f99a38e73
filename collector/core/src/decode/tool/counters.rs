//! Counters since boot as `ethtool -S`, `rdma statistic` and sysfs print them.

use std::collections::BTreeSet;

use super::{Output, Taken, TakesLines};
use crate::decode::counter::reading::Reading;
use crate::model::node::Totals;

/// Names that show trouble although they measure nothing that railscope follows over time.
// tidy: table
const SIGNS: &[&str] = &[
    "bw_in_allowance_exceeded",
    "bw_out_allowance_exceeded",
    "pps_allowance_exceeded",
    "conntrack_allowance_exceeded",
    "linklocal_allowance_exceeded",
];

/// Most counters of a NIC: mlx5 has about 2,000 with 128 queues.
const NAMES: usize = 8192;

/// Drivers whose names are tried for a name without a driver.
const DRIVERS: &[&str] = &["mlx5_core", "bnxt_en", "efa", "ice", "irdma"];

/// `ethtool -S`: a name and a value a line.
#[derive(Clone, Debug)]
pub(super) struct Ethtool {
    totals: Totals,
    names: BTreeSet<String>,
}

impl Ethtool {
    /// `NIC statistics:`, a line with the name of a known counter or, if the command above
    /// asked for counters (`is_asked`), any.
    pub(super) fn begin(line: &str, device: Option<&str>, is_asked: bool) -> Option<Self> {
        let device = device.map(str::to_owned);
        let totals = Totals { device, ..Totals::default() };
        let mut reader = Self { totals, names: BTreeSet::new() };
        if line.trim() == "NIC statistics:" {
            return Some(reader);
        }
        let (name, value) = entry(line)?;
        let is_known = is_asked
            || SIGNS.contains(&name)
            || DRIVERS.iter().any(|driver| Reading::from_name(Some(driver), name).is_some())
            || is_per_priority(name);
        if !is_known {
            return None;
        }
        reader.names.insert(name.to_owned());
        reader.totals.values.push((name.to_owned(), value));
        Some(reader)
    }
}

/// `rx_prio3_pause`, `rx_pause`, ...
fn is_per_priority(name: &str) -> bool {
    let rest = name.strip_prefix("rx_").or_else(|| name.strip_prefix("tx_"));
    rest.is_some_and(|rest| {
        rest.starts_with("pause") || rest.starts_with("prio") || rest.starts_with("vport_")
    })
}

/// `     rx_pause: 0`; names may have spaces and brackets.
fn entry(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.trim().rsplit_once(':')?;
    let name = name.trim();
    let value = value.trim().parse().ok()?;
    (!name.is_empty() && name.len() <= 64 && !name.contains('/')).then_some((name, value))
}

impl TakesLines for Ethtool {
    fn take(&mut self, line: &str) -> Taken {
        match entry(line) {
            // A name that comes again begins another reading.
            Some((name, value))
                if self.names.len() < NAMES && self.names.insert(name.to_owned()) =>
            {
                self.totals.values.push((name.to_owned(), value));
                Taken::Yes
            }
            _ => Taken::End,
        }
    }

    fn finish(self) -> Option<Output> {
        (!self.totals.values.is_empty()).then_some(Output::Totals(self.totals))
    }
}

/// `rdma statistic show link`: `link mlx5_0/1 NAME VALUE ...`, with `-p` a pair a line.
#[derive(Clone, Debug)]
pub(super) struct RdmaStatistic {
    totals: Totals,
}

impl RdmaStatistic {
    /// `link mlx5_0/1`, with nothing or a counter behind it.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let mut words = line.trim_end().strip_prefix("link ")?.split_whitespace();
        let (device, port) = words.next()?.split_once('/')?;
        let port = port.parse().ok()?;
        let totals =
            Totals { device: Some(device.to_owned()), port: Some(port), ..Totals::default() };
        let mut reader = Self { totals };
        reader.pairs(words)?;
        Some(reader)
    }

    fn pairs<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) -> Option<()> {
        while let Some(name) = words.next() {
            let value = words.next()?.parse().ok()?;
            (self.totals.values.len() < NAMES).then_some(())?;
            self.totals.values.push((name.to_owned(), value));
        }
        Some(())
    }
}

impl TakesLines for RdmaStatistic {
    fn take(&mut self, line: &str) -> Taken {
        let is_indented = line.starts_with([' ', '\t']) && !line.trim().is_empty();
        if is_indented && self.pairs(line.split_whitespace()).is_some() {
            Taken::Yes
        } else {
            Taken::End
        }
    }

    fn finish(self) -> Option<Output> {
        (!self.totals.values.is_empty()).then_some(Output::Totals(self.totals))
    }
}

/// Counters of a port in sysfs, as `grep .` prints the files of `hw_counters/` and `counters/`.
#[derive(Clone, Debug)]
pub(super) struct Sysfs {
    totals: Totals,
}

impl Sysfs {
    /// `mlx5_0/ports/1/hw_counters/out_of_buffer:0`, with or without the folders before it.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let (device, port, name, value) = file_of(line)?;
        let values = vec![(name.to_owned(), value)];
        let device = Some(device.to_owned());
        Some(Self { totals: Totals { device, port: Some(port), values, before: None } })
    }
}

fn file_of(line: &str) -> Option<(&str, u32, &str, u64)> {
    let (path, value) = line.trim().rsplit_once(':')?;
    let value = value.trim().parse().ok()?;
    let mut folders = path.rsplit('/');
    let name = folders.next()?;
    folders.next().filter(|folder| *folder == "hw_counters" || *folder == "counters")?;
    let port = folders.next()?.parse().ok()?;
    folders.next().filter(|folder| *folder == "ports")?;
    Some((folders.next()?, port, name, value))
}

impl TakesLines for Sysfs {
    fn take(&mut self, line: &str) -> Taken {
        let Some((device, port, name, value)) = file_of(line) else { return Taken::End };
        let is_own =
            self.totals.device.as_deref() == Some(device) && self.totals.port == Some(port);
        let is_known = self.totals.values.iter().any(|(known, _)| known == name);
        if !is_own || is_known || self.totals.values.len() >= NAMES {
            return Taken::End;
        }
        self.totals.values.push((name.to_owned(), value));
        Taken::Yes
    }

    fn finish(self) -> Option<Output> {
        Some(Output::Totals(self.totals))
    }
}
