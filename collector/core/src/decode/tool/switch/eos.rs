//! Tables of Arista EOS whose rows have a varying number of words: `show priority-flow-control [status]`
//! and `show interfaces counters rates`.

use super::super::{Output, Taken, TakesLines};
use super::{is_rule, place_of};
use crate::model::switch::{Measure, Place, Sample, SwitchPort, SwitchTable};

/// Most rows read.
const ROWS: usize = 16_384;

/// `show priority-flow-control`: after the port, `E` (on) or `D` (off), `A` (active), `W` (watchdog) or
/// dashes, then priorities.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct PfcStatus {
    ports: Vec<SwitchPort>,
}

impl PfcStatus {
    /// `Port  Status  Priorities  ...`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let is_head = words.by_ref().take(3).eq(["Port", "Status", "Priorities"]);
        is_head.then(Self::default)
    }

    fn row(&mut self, text: &str) -> Option<()> {
        let mut words = text.split_whitespace().peekable();
        let (port, _) = place_of(words.next()?, false)?;
        let state = words.next()?;
        if !matches!(state, "E" | "D") {
            return None;
        }
        for _ in 0..2 {
            words.next_if(|word| matches!(*word, "A" | "W" | "-"));
        }
        let mut lossless = [false; 8];
        while let Some(word) = words.peek() {
            let Some(priority) = word.parse().ok().and_then(|at: usize| lossless.get_mut(at))
            else {
                break;
            };
            *priority = state == "E";
            words.next();
        }
        let name = port.to_owned();
        self.ports.push(SwitchPort { name, lossless: Some(lossless), ..SwitchPort::default() });
        Some(())
    }
}

impl TakesLines for PfcStatus {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if is_rule(text) || (self.ports.len() < ROWS && self.row(text).is_some()) {
            return Taken::Yes;
        }
        // The head may go on in a second line.
        let is_head =
            self.ports.is_empty() && (text.contains("Interval") || text.contains("Config/Oper"));
        if is_head { Taken::Yes } else { Taken::End }
    }

    fn finish(self) -> Option<Output> {
        let ports = self.ports;
        (!ports.is_empty()).then(|| Output::Switch(SwitchTable { ports, ..SwitchTable::default() }))
    }
}

/// `show interfaces counters rates`: the port, a description of any words, the interval, then rates.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Rates {
    samples: Vec<Sample>,
}

impl Rates {
    /// `Port  Name  Intvl  In Mbps  %  In Kpps  Out Mbps  %  Out Kpps`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_head = words.first() == Some(&"Port")
            && words.contains(&"Intvl")
            && words.windows(2).any(|two| two == ["In", "Mbps"]);
        is_head.then(Self::default)
    }

    fn row(&mut self, text: &str) -> Option<()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (port, _) = place_of(words.first()?, false)?;
        let is_interval = |word: &&str| {
            let minutes = word.split_once(':');
            minutes.is_some_and(|(minutes, seconds)| {
                minutes.parse::<u32>().is_ok() && seconds.parse::<u32>().is_ok()
            })
        };
        let at = words.iter().rposition(is_interval)?;
        // Mb/s, per cent and kp/s in, and the same out.
        for (behind, measure) in [(1, Measure::ReceiveRate), (4, Measure::SendRate)] {
            let word = words.get(at.checked_add(behind)?)?;
            let digits: String = word.chars().filter(|c| *c != ',').collect();
            let mbps: f64 = digits.parse().ok().filter(|rate| (0.0..1e9).contains(rate))?;
            let place = Place { port: port.to_owned(), lane: None };
            self.samples.push(Sample { place, measure, value: (mbps * 1e6) as u64 });
        }
        Some(())
    }
}

impl TakesLines for Rates {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if is_rule(text) || (self.samples.len() < ROWS && self.row(text).is_some()) {
            Taken::Yes
        } else {
            Taken::End
        }
    }

    fn finish(self) -> Option<Output> {
        let samples = self.samples;
        (!samples.is_empty())
            .then(|| Output::Switch(SwitchTable { samples, ..SwitchTable::default() }))
    }
}
