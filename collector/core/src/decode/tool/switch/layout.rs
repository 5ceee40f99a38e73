//! Heads of tables: what their columns mean.

use crate::model::switch::{Lane, Measure};

/// The columns of a table.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) columns: Vec<Column>,
    /// The first column names a queue, too: `Ethernet8:4`.
    has_queue_in_name: bool,
}

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// The port.
    Name,
    /// The queue.
    Lane,
    /// A counter, of one lane if the column names it.
    Count(Measure, Option<Lane>),
    /// Two counters: `2/1`.
    Pair(Option<Measure>, Option<Measure>),
    /// The state that the PFC watchdog sees.
    Storm,
    /// Whether the link is up.
    IsUp,
    /// Whether the port is meant to be up.
    IsEnabled,
    /// Rate of the link.
    Rate,
    /// Largest frame.
    Mtu,
    /// Priorities with PFC.
    Lossless,
    /// What the PFC watchdog does.
    Watchdog,
    /// Anything else.
    Other,
}

/// Most columns of a head.
const COLUMNS: usize = 64;

/// Titles above heads that do not say what they count.
// tidy: table
const TITLES: &[(&str, Measure)] = &[
    ("Ingress shared pool occupancy per PG:", Measure::SharedPeak),
    ("Ingress headroom per PG:", Measure::HeadroomPeak),
    ("Ingress PG dropped packets:", Measure::QueueDrops),
    ("Egress shared pool occupancy per unicast queue:", Measure::QueuePeak),
    ("Egress shared pool occupancy per multicast queue:", Measure::QueuePeak),
    ("Egress shared pool occupancy per all queues:", Measure::QueuePeak),
    ("Egress shared pool occupancy per queue:", Measure::QueuePeak),
];

/// What the table below this title counts.
pub(super) fn title(text: &str) -> Option<Measure> {
    TITLES.iter().find(|(title, _)| text.starts_with(title)).map(|(_, measure)| *measure)
}

/// What a command asks for.
pub(super) fn asked(command: &str) -> Option<Measure> {
    let has = |words: &[&str]| words.iter().all(|word| command.contains(word));
    if !command.contains("show") {
        None
    } else if has(&["priority-group", "watermark", "headroom"]) {
        Some(Measure::HeadroomPeak)
    } else if has(&["priority-group", "watermark", "shared"]) {
        Some(Measure::SharedPeak)
    } else if has(&["priority-group", "drop"]) {
        Some(Measure::QueueDrops)
    } else if has(&["queue", "watermark"]) {
        Some(Measure::QueuePeak)
    } else {
        None
    }
}

/// The words of a line; a unit and a remark in brackets belong to the word before them.
pub(super) fn words(text: &str) -> Vec<&str> {
    let is_own = |word: &&str| {
        !matches!(*word, "B/s" | "KB/s" | "MB/s" | "GB/s" | "TB/s" | "bps" | "|")
            && !word.starts_with('(')
    };
    text.split_whitespace().filter(is_own).take(COLUMNS).collect()
}

impl Layout {
    /// The columns of a head; `about` is what the title above it says.
    pub(super) fn read(text: &str, about: Option<Measure>) -> Option<Self> {
        let words = words(text);
        let known = match words.as_slice() {
            ["IFACE", "STATE", ..] => port_counters(&words),
            ["Port", "Rx", "PFC0", ..] => lanes(&words, 2, Measure::PauseReceived),
            ["Port", "Tx", "PFC0", ..] => lanes(&words, 2, Measure::PauseSent),
            ["Port", first, ..] if first.ends_with('0') && first.len() <= 4 => {
                lanes(&words, 1, about?)
            }
            ["Port", "TxQ" | "Voq" | "Traffic", _, ..] => queues(&words),
            ["Port", "RxPfc", "TxPfc", ..] => {
                named(&words, &[("RxPfc", Measure::PauseReceived), ("TxPfc", Measure::PauseSent)])
            }
            ["Port", "InDiscards", "OutDiscards", ..] => named(
                &words,
                &[("InDiscards", Measure::ReceiveDrops), ("OutDiscards", Measure::SendDrops)],
            ),
            ["Port", "FCS", "Align", "Symbol", ..] => named(
                &words,
                &[
                    ("FCS", Measure::FcsErrors),
                    ("Rx", Measure::ReceiveErrors),
                    ("Tx", Measure::SendErrors),
                ],
            ),
            ["Interface", "Lanes", "Speed", "MTU", ..] => return status(&words),
            ["Interface", "Lossless", "priorities"] => Some(vec![Column::Name, Column::Lossless]),
            ["PORT", "ACTION", "DETECTION", "TIME", ..] => {
                Some(vec![Column::Name, Column::Watchdog, Column::Other, Column::Other])
            }
            ["QUEUE", rest @ ..] => return watchdog(rest),
            _ => None,
        };
        Some(Self { columns: known?, has_queue_in_name: false })
    }

    /// Words that a row must have.
    pub(super) const fn least(&self) -> usize {
        self.columns.len()
    }

    /// Whether the first column names a queue, too.
    pub(super) const fn has_queue_in_name(&self) -> bool {
        self.has_queue_in_name
    }
}

/// Columns whose names are known, behind the port.
fn named(words: &[&str], known: &[(&str, Measure)]) -> Option<Vec<Column>> {
    let of = |(at, word): (usize, &&str)| match known.iter().find(|(name, _)| name == word) {
        _ if at == 0 => Column::Name,
        Some((_, measure)) => Column::Count(*measure, None),
        None => Column::Other,
    };
    Some(words.iter().enumerate().map(of).collect())
}

/// SONiC `show interfaces counters`, also with `errors`, `-a` and `fec-stats`.
fn port_counters(words: &[&str]) -> Option<Vec<Column>> {
    let known = [
        ("RX_OK", Measure::Received),
        ("TX_OK", Measure::Sent),
        ("RX_ERR", Measure::ReceiveErrors),
        ("TX_ERR", Measure::SendErrors),
        ("RX_DRP", Measure::ReceiveDrops),
        ("TX_DRP", Measure::SendDrops),
        ("FEC_UNCORR", Measure::FecUncorrected),
    ];
    let mut columns = named(words, &known)?;
    *columns.get_mut(1)? = Column::IsUp;
    Some(columns)
}

/// A column for each lane: `PFC0 PFC1 ...`, `PG0 PG1 ...`, `UC0 UC1 ...`.
fn lanes(words: &[&str], first: usize, measure: Measure) -> Option<Vec<Column>> {
    let lanes = words.get(first..)?.iter();
    let lanes =
        lanes.map(|word| super::lane_of(word).map(|lane| Column::Count(measure, Some(lane))));
    std::iter::once(Some(Column::Name)).chain(lanes).collect()
}

/// A row for each queue: `show queue counters`, `wredcounters`, and EOS `show interfaces counters queue`.
fn queues(words: &[&str]) -> Option<Vec<Column>> {
    let known = [
        ("Drop/pkts", Measure::QueueDrops),
        ("Dropped/pkts", Measure::QueueDrops),
        ("OutDropPkts", Measure::QueueDrops),
        ("WredDrp/pkts", Measure::WredDrops),
        ("EcnMarked/pkts", Measure::EcnMarked),
    ];
    let mut columns = named(words, &known)?;
    *columns.get_mut(1)? = Column::Lane;
    // A head without any of them is of a table that is not read here.
    columns.iter().any(|column| matches!(column, Column::Count(..))).then_some(columns)
}

/// SONiC `show interfaces status`: types have several words, so that only what stands before them is
/// read.
fn status(words: &[&str]) -> Option<Layout> {
    let of = |(at, word): (usize, &&str)| match *word {
        _ if at == 0 => Column::Name,
        "Speed" => Column::Rate,
        "MTU" => Column::Mtu,
        "Oper" => Column::IsUp,
        "Admin" => Column::IsEnabled,
        _ => Column::Other,
    };
    let columns: Vec<Column> = words.iter().enumerate().map(of).collect();
    let last = columns.iter().position(|column| *column == Column::IsEnabled)?;
    let columns: Vec<Column> = columns.into_iter().take(last.checked_add(1)?).collect();
    Some(Layout { columns, has_queue_in_name: false })
}

/// SONiC `show pfcwd stats`: `QUEUE STATUS STORM DETECTED/RESTORED TX OK/DROP ...`; before 2019 without
/// a state.
fn watchdog(rest: &[&str]) -> Option<Layout> {
    let has_status = rest.first() == Some(&"STATUS");
    let rest = rest.get(usize::from(has_status)..)?;
    let ["STORM", "DETECTED/RESTORED", "TX", "OK/DROP", "RX", "OK/DROP", ..] = rest else {
        return None;
    };
    let mut columns = vec![Column::Name];
    columns.extend(has_status.then_some(Column::Storm));
    columns.push(Column::Pair(Some(Measure::StormsDetected), Some(Measure::StormsEnded)));
    columns.extend([Column::Pair(None, Some(Measure::StormDrops)); 2]);
    Some(Layout { columns, has_queue_in_name: true })
}
