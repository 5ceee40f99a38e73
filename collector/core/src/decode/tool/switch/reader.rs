//! The forms in which switches print counters and settings.

use super::super::{Output, Taken, TakesLines};
use super::Table;
use super::config_db::ConfigDb;
use super::eos::{PfcStatus, Rates};
use super::eos_config::EosConfig;
use super::eos_maps::EosMap;
use super::maps::NamedMap;
use super::nvue::NvueTree;
use super::nvue_set::NvueSet;
use super::nvue_tables::{NvueCounters, NvueMap};
use super::profile::Profile;

/// The output of a switch that is being read.
#[derive(Clone, Debug)]
pub(in super::super) enum SwitchReader {
    Table(Table),
    Profile(Profile),
    ConfigDb(ConfigDb),
    NamedMap(NamedMap),
    EosMap(EosMap),
    EosConfig(EosConfig),
    PfcStatus(PfcStatus),
    Rates(Rates),
    NvueTree(NvueTree),
    NvueSet(NvueSet),
    NvueMap(NvueMap),
    NvueCounters(NvueCounters),
}

impl SwitchReader {
    /// Reads the first line of an output; `None` if it is none.
    pub(in super::super) fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        Table::begin(line, command)
            .map(Self::Table)
            .or_else(|| Profile::begin(line).map(Self::Profile))
            .or_else(|| ConfigDb::begin(line).map(Self::ConfigDb))
            .or_else(|| NamedMap::begin(line).map(Self::NamedMap))
            .or_else(|| EosMap::begin(line).map(Self::EosMap))
            .or_else(|| EosConfig::begin(line).map(Self::EosConfig))
            .or_else(|| PfcStatus::begin(line).map(Self::PfcStatus))
            .or_else(|| Rates::begin(line).map(Self::Rates))
            .or_else(|| NvueTree::begin(line, command).map(Self::NvueTree))
            .or_else(|| NvueSet::begin(line).map(Self::NvueSet))
            .or_else(|| NvueMap::begin(line).map(Self::NvueMap))
            .or_else(|| NvueCounters::begin(line, command).map(Self::NvueCounters))
    }

    /// Whether nothing can follow the first line.
    pub(in super::super) const fn is_whole(&self) -> bool {
        match self {
            Self::ConfigDb(open) => open.is_whole(),
            _ => false,
        }
    }

    /// The next line.
    pub(in super::super) fn take(&mut self, line: &str) -> Taken {
        match self {
            Self::Table(open) => open.take(line),
            Self::Profile(open) => open.take(line),
            Self::ConfigDb(open) => open.take(line),
            Self::NamedMap(open) => open.take(line),
            Self::EosMap(open) => open.take(line),
            Self::EosConfig(open) => open.take(line),
            Self::PfcStatus(open) => open.take(line),
            Self::Rates(open) => open.take(line),
            Self::NvueTree(open) => open.take(line),
            Self::NvueSet(open) => open.take(line),
            Self::NvueMap(open) => open.take(line),
            Self::NvueCounters(open) => open.take(line),
        }
    }

    /// What was read; `None` if that is nothing.
    pub(in super::super) fn finish(self) -> Option<Output> {
        match self {
            Self::Table(open) => open.finish(),
            Self::Profile(open) => open.finish(),
            Self::ConfigDb(open) => open.finish(),
            Self::NamedMap(open) => open.finish(),
            Self::EosMap(open) => open.finish(),
            Self::EosConfig(open) => open.finish(),
            Self::PfcStatus(open) => open.finish(),
            Self::Rates(open) => open.finish(),
            Self::NvueTree(open) => open.finish(),
            Self::NvueSet(open) => open.finish(),
            Self::NvueMap(open) => open.finish(),
            Self::NvueCounters(open) => open.finish(),
        }
    }
}
