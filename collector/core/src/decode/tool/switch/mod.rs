//! Tables of switches: SONiC's `show` and its `pfcwd`, `portstat`, `queuestat`, `pfcstat`,
//! `watermarkstat`, and Arista EOS. All print a head, then a row for each port or queue. What has
//! another form is in files of its own.

mod config_db;
mod eos;
mod eos_config;
mod eos_maps;
mod layout;
mod maps;
mod nvue;
mod nvue_set;
mod nvue_tables;
mod profile;
mod reader;

use self::layout::{Column, Layout};
pub(super) use self::reader::SwitchReader;
use super::{Output, Taken, TakesLines};
use crate::model::node::Trust;
use crate::model::switch::{Lane, LaneKind, Measure, Place, Sample, SwitchPort, SwitchTable};

/// Most rows read: 512 ports with 32 queues each.
const ROWS: usize = 16_384;

/// A table, from its title or its head on.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// What a title above the head says that the table is about.
    about: Option<Measure>,
    layout: Option<Layout>,
    rows: usize,
    found: SwitchTable,
}

impl Table {
    /// A title that a head follows, or the head.
    pub(super) fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        let text = line.trim();
        let about = layout::title(text);
        let by_command = || command.and_then(layout::asked);
        let layout = match about {
            Some(_) => None,
            None => Some(Layout::read(text, by_command())?),
        };
        Some(Self { about, layout, rows: 0, found: SwitchTable::default() })
    }

    fn row(&mut self, text: &str) -> Option<()> {
        let layout = self.layout.as_ref()?;
        let words = layout::words(text);
        if words.len() < layout.least() {
            return None;
        }
        let name = *words.first()?;
        // EOS sums up at the end.
        if name == "Totals" || name == "Total" {
            return Some(());
        }
        let (port, queue) = place_of(name, layout.has_queue_in_name())?;
        let mut row = Row { lane: queue, port: SwitchPort::default(), samples: Vec::new() };
        row.port.name = port.to_owned();
        for (column, word) in layout.columns.iter().zip(&words) {
            row.cell(*column, word)?;
        }
        let Row { lane, port, samples } = row;
        for (own, measure, value) in samples {
            let place = Place { port: port.name.clone(), lane: own.or(lane) };
            self.add(Sample { place, measure, value });
        }
        if port != (SwitchPort { name: port.name.clone(), ..SwitchPort::default() }) {
            self.found.ports.push(port);
        }
        Some(())
    }

    /// EOS has a row for each drop precedence of a queue, one below the other.
    fn add(&mut self, sample: Sample) {
        let same =
            |known: &&mut Sample| known.place == sample.place && known.measure == sample.measure;
        match self.found.samples.iter_mut().rev().take(4).find(same) {
            Some(known) => known.value = known.value.saturating_add(sample.value),
            None => self.found.samples.push(sample),
        }
    }
}

impl TakesLines for Table {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if text.is_empty() || text.bytes().all(|byte| b"- |".contains(&byte)) {
            return Taken::Yes;
        }
        if self.layout.is_none() {
            self.layout = Layout::read(text, self.about);
            return if self.layout.is_some() { Taken::Yes } else { Taken::End };
        }
        // Some heads have a second line.
        if self.rows == 0 && matches!(text, "Class" | "Precedence") {
            return Taken::Yes;
        }
        if self.rows >= ROWS || self.row(text).is_none() {
            return Taken::End;
        }
        self.rows = self.rows.saturating_add(1);
        Taken::Yes
    }

    fn finish(self) -> Option<Output> {
        (self.rows > 0).then_some(Output::Switch(self.found))
    }
}

/// A row while it is read.
struct Row {
    lane: Option<Lane>,
    port: SwitchPort,
    /// With a lane of their own, where the column names it.
    samples: Vec<(Option<Lane>, Measure, u64)>,
}

impl Row {
    /// A cell; `None` if it does not fit its column: then the line is no row.
    fn cell(&mut self, column: Column, word: &str) -> Option<()> {
        match column {
            Column::Name | Column::Other => {}
            Column::Lane => self.lane = Some(lane_of(word)?),
            Column::Count(measure, lane) => {
                self.samples.extend(count(word)?.map(|value| (lane, measure, value)));
            }
            Column::Pair(first, second) => {
                let (one, other) = word.split_once('/').filter(|_| word != "N/A")?;
                for (measure, word) in [(first, one), (second, other)] {
                    let value = count(word)?.zip(measure);
                    self.samples.extend(value.map(|(value, measure)| (None, measure, value)));
                }
            }
            Column::Storm => {
                let is_stormed = word.eq_ignore_ascii_case("stormed");
                self.samples.push((None, Measure::InStorm, u64::from(is_stormed)));
            }
            Column::IsUp => self.port.is_up = up(word),
            Column::IsEnabled => self.port.is_enabled = up(word),
            Column::Rate => self.port.rate_bps = rate(word),
            Column::Mtu => self.port.mtu = word.parse().ok(),
            Column::Lossless => self.port.lossless = Some(priorities(word)?),
            Column::Watchdog => self.port.watchdog = Some(word.to_owned()),
        }
        Some(())
    }
}

/// The port that a row is about and, of `Ethernet8:4`, the queue.
fn place_of(name: &str, has_queue: bool) -> Option<(&str, Option<Lane>)> {
    let (port, queue) = match name.rsplit_once(':').filter(|_| has_queue) {
        Some((port, queue)) => {
            (port, Some(Lane { kind: LaneKind::Queue, number: queue.parse().ok()? }))
        }
        None => (name, None),
    };
    let is_name = port.len() <= 40
        && port.starts_with(|c: char| c.is_ascii_alphabetic())
        && port.contains(|c: char| c.is_ascii_digit() || c == '-')
        && port.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.:|".contains(&byte));
    is_name.then_some((port, queue))
}

/// `UC3`, `MC10`, `ALL20`, `VOQ3`, `TC7`, `PG3`, `3`.
fn lane_of(word: &str) -> Option<Lane> {
    let at = word.find(|c: char| c.is_ascii_digit())?;
    let (kind, number) = word.split_at(at);
    let kind = match kind {
        "" | "UC" | "ALL" | "TC" | "TxQ" | "Q" => LaneKind::Queue,
        "MC" => LaneKind::MulticastQueue,
        "VOQ" => LaneKind::VirtualQueue,
        "PG" => LaneKind::PriorityGroup,
        "PFC" => LaneKind::Priority,
        _ => return None,
    };
    Some(Lane { kind, number: number.parse().ok()? })
}

/// `91,786`; `Some(None)` where the switch counts nothing: `N/A`, `-`.
fn count(word: &str) -> Option<Option<u64>> {
    if matches!(word, "N/A" | "-" | "n/a") {
        return Some(None);
    }
    let digits: String = word.chars().filter(|c| *c != ',').collect();
    digits.parse().ok().map(Some)
}

fn up(word: &str) -> Option<bool> {
    match word {
        "up" | "U" => Some(true),
        "down" | "D" | "X" => Some(false),
        _ => None,
    }
}

/// `100G`, `25000M`.
fn rate(word: &str) -> Option<u64> {
    let (number, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
    let unit = match unit {
        "G" => 1_000_000_000,
        "M" => 1_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// `3,4`; `N/A` and nothing are none.
fn priorities(word: &str) -> Option<[bool; 8]> {
    let mut found = [false; 8];
    if word == "N/A" || word == "-" {
        return Some(found);
    }
    for priority in word.split(',').filter(|word| !word.is_empty()) {
        *found.get_mut(priority.trim().parse::<usize>().ok()?)? = true;
    }
    Some(found)
}

/// `0-3,5,7`, also divided by spaces: numbers of DSCPs, priorities or queues.
fn numbers(text: &str) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    for part in text.split([',', ' ', '\t']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u8, u8) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > LARGEST {
            return None;
        }
        found.extend(first..=last);
    }
    (!found.is_empty()).then_some(found)
}

/// The largest DSCP.
const LARGEST: u8 = 63;

/// These of eight priorities or queues; `None` if a number is larger.
fn eight(numbers: &[u8]) -> Option<[bool; 8]> {
    let mut found = [false; 8];
    for number in numbers {
        *found.get_mut(usize::from(*number))? = true;
    }
    Some(found)
}

/// What decides the class of a packet: `pcp,dscp`, `l3`, `both`, `cos`.
fn trust_of(word: &str) -> Option<Trust> {
    match word {
        "pcp,dscp" | "dscp,pcp" | "both" => Some(Trust::Both),
        "dscp" | "l3" => Some(Trust::Dscp),
        "pcp" | "l2" | "cos" => Some(Trust::Pcp),
        _ => None,
    }
}

/// Whether a line only divides others.
fn is_rule(text: &str) -> bool {
    text.bytes().all(|byte| b"-=+| ".contains(&byte))
}
