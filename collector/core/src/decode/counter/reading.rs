//! The meaning of a counter, from its raw name.

use super::measure::Measure;
use super::names::{BY_DRIVER, EVERYWHERE, Name};

/// The meaning of a counter: measure, priority and factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it measures.
    pub measure: Measure,
    /// Priority 0 ..= 7 of a per-priority counter.
    pub priority: Option<u8>,
    /// Factor that converts it to the measure's unit.
    pub scale: u64,
    /// Among a device's counters with the same measure, only those with the lowest rank are added up;
    /// the others count the same events again.
    pub rank: u8,
}

impl Reading {
    /// The meaning of the counter that `driver` calls `name`, if known. Without a driver,
    /// driver-specific names are unknown.
    #[must_use]
    pub fn from_name(driver: Option<&str>, name: &str) -> Option<Self> {
        let own = BY_DRIVER.iter().find(|(of, _)| Some(*of) == driver);
        let own = own.map_or(&[][..], |(_, names)| names);
        own.iter().chain(EVERYWHERE).find_map(|known| Self::if_like(known, name))
    }

    fn if_like(known: &Name, name: &str) -> Option<Self> {
        let priority = match known.pattern.split_once('#') {
            None if known.pattern == name => None,
            None => return None,
            Some((start, end)) => Some(priority(name, start, end)?),
        };
        let Name { measure, scale, rank, .. } = *known;
        Some(Self { measure, priority, scale, rank })
    }
}

fn priority(name: &str, start: &str, end: &str) -> Option<u8> {
    let digits = name.strip_prefix(start)?.strip_suffix(end)?;
    digits.parse().ok().filter(|priority| *priority < 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_their_priority() {
        let reading = Reading::from_name(None, "rx_prio3_pause_duration").unwrap();
        assert_eq!(reading.measure, Measure::PauseReceivedTime);
        assert_eq!((reading.priority, reading.scale), (Some(3), 1_000));
        let measure = |name| Reading::from_name(None, name).unwrap().measure;
        assert_eq!(measure("rx_prio3_pause"), Measure::PauseReceived);
        assert_eq!(measure("pfc_pri7_tx_duration_us"), Measure::PauseSentTime);
        assert_eq!(measure("tx_priority_0_xoff.nic"), Measure::PauseSent);
        assert_eq!(Reading::from_name(None, "np_cnp_sent").unwrap().priority, None);
        for unknown in ["rx_prio8_pause", "rx_prio_pause", "np_cnp", "", "rx_prio3_pause_x"] {
            assert_eq!(Reading::from_name(None, unknown), None, "{unknown}");
        }
    }

    #[test]
    fn bytes_of_sockets_are_not_those_of_rdma() {
        let measure =
            |driver| Reading::from_name(driver, "rx_bytes").map(|reading| reading.measure);
        assert_eq!(measure(Some("efa")), Some(Measure::RdmaReceivedBytes));
        assert_eq!(measure(Some("mlx5_core")), None);
        assert_eq!(measure(None), None);
    }

    #[test]
    fn no_name_is_there_twice() {
        for (driver, own) in BY_DRIVER.iter().chain(&[("", &[][..])]) {
            let names = own.iter().chain(EVERYWHERE).map(|name| name.pattern);
            let mut names: Vec<&str> = names.collect();
            names.sort_unstable();
            let before = names.len();
            names.dedup();
            assert_eq!(names.len(), before, "{driver}");
        }
    }
}
