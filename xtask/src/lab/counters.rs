//! Growth of rxe's `hw_counters` during a case.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// Growth by device and counter.
#[derive(Debug, Default)]
pub(super) struct Counters(BTreeMap<(String, String), u64>);

impl Counters {
    /// Reads lines of device, counter and growth.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().map(|line| {
            let mut words = line.split_whitespace();
            let mut word = || words.next().map(str::to_owned);
            let name = word().zip(word());
            let growth = word().and_then(|word| word.parse().ok());
            name.zip(growth).with_context(|| format!("unreadable counter: {line}"))
        });
        Ok(Self(lines.collect::<Result<_>>()?))
    }

    /// A counter of `host`'s device; 0 if it has none with this name.
    pub(super) fn value(&self, host: usize, counter: &str) -> u64 {
        self.0.get(&(format!("rxe{host}"), counter.to_owned())).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    #[test]
    fn growth_is_found_by_host_and_name() {
        let counters = Counters::parse("rxe0 sent_pkts 400\nrxe1 sent_pkts 100\n").unwrap();
        assert_eq!(counters.value(0, "sent_pkts"), 400);
        assert_eq!(counters.value(1, "sent_pkts"), 100);
        assert_eq!(counters.value(1, "lifespan"), 0);
        assert!(Counters::parse("rxe0 sent_pkts -3\n").is_err());
    }
}
