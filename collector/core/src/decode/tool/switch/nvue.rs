//! Keys and values of Cumulus Linux: `nv show qos roce`, `nv show interface swp1 qos roce status`. The
//! value in use stands before the one that was applied, which may be absent.

use super::super::{Output, Taken, TakesLines};
use super::{eight, numbers, trust_of};
use crate::model::switch::{QosSettings, SwitchTable};

/// Keys below a head `operational  applied`.
#[derive(Clone, Debug)]
pub(in super::super) struct NvueTree {
    found: QosSettings,
    /// Whether queues are marked with ECN, where a mode of congestion control is named.
    marks: Option<bool>,
    /// Whether pause frames are sent and received.
    pauses: bool,
    lines: usize,
}

/// Most lines.
const LINES: usize = 1024;

impl NvueTree {
    /// `operational  applied  description`.
    pub(super) fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        let mut words = line.split_whitespace();
        let is_head = words.by_ref().take(2).eq(["operational", "applied"])
            && words.next().is_none_or(|word| word == "description")
            && words.next().is_none();
        let name = command.and_then(interface);
        let found = QosSettings { name: name.map(str::to_owned), ..QosSettings::default() };
        is_head.then_some(Self { found, marks: None, pauses: true, lines: 0 })
    }

    fn key(&mut self, key: &str, value: &str) {
        let of = |value| numbers(value).and_then(|numbers| eight(&numbers));
        match key {
            "pfc-priority" => {
                self.found.lossless = if value == "-" { Some([false; 8]) } else { of(value) };
            }
            "enabled-tc" => self.found.ecn_queues = of(value),
            "congestion-mode" => {
                let mode = value.to_ascii_lowercase();
                self.marks = Some(mode.contains("ecn"));
            }
            "rx-enabled" | "tx-enabled" => {
                self.pauses &= !matches!(value, "no" | "off" | "disabled" | "disable");
            }
            "trust-mode" | "trust" => self.found.trust = trust_of(value),
            _ => {}
        }
    }
}

impl TakesLines for NvueTree {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if self.lines >= LINES || text.is_empty() || text.bytes().all(|byte| byte == b'=') {
            return Taken::End;
        }
        self.lines = self.lines.saturating_add(1);
        if text.bytes().all(|byte| b"- ".contains(&byte)) {
            return Taken::Yes;
        }
        let (key, value) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        let is_key = key.starts_with(|c: char| c.is_ascii_lowercase())
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        if !is_key {
            return Taken::End;
        }
        if let Some(value) = value.split_whitespace().next() {
            self.key(key, value.trim_end_matches(','));
        }
        Taken::Yes
    }

    fn finish(self) -> Option<Output> {
        let Self { mut found, marks, pauses, .. } = self;
        if marks == Some(false) {
            found.ecn_queues = Some([false; 8]);
        }
        if !pauses {
            found.lossless = Some([false; 8]);
        }
        let is_read =
            found.lossless.is_some() || found.ecn_queues.is_some() || found.trust.is_some();
        let settings = vec![found];
        is_read.then(|| Output::Switch(SwitchTable { settings, ..SwitchTable::default() }))
    }
}

/// The port that a command is about: `nv show interface swp1 qos roce`.
pub(super) fn interface(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    words.find(|word| *word == "interface")?;
    words.next().filter(|name| name.len() <= 40 && !name.contains(['<', '-']))
}
