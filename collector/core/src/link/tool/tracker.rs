//! Lines in, outputs of tools out.

use std::collections::{BTreeMap, BTreeSet};

use memchr::{memchr, memchr2_iter, memmem};

use super::prefix;
use crate::decode::nccl_log::clean;
use crate::decode::tool::{Output, Taken, ToolReader};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::witness::{LogId, Witness};

/// An output of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What it says.
    pub output: Output,
    /// The file that has it.
    pub log: LogId,
    /// The host on which the tool ran, if a prompt or a launcher's prefix names it.
    pub host: Option<String>,
    /// Its first line.
    pub witness: Witness,
    /// That line's text, without prefix, cut.
    pub quote: String,
}

/// State over the lines of texts.
#[derive(Clone, Debug, Default)]
pub struct ToolTracker {
    found: Vec<Found>,
    /// By host: the output that is being read.
    open: BTreeMap<String, Open>,
    log: Option<LogId>,
    /// The last command line, with its host.
    command: Option<(String, Option<String>)>,
    /// How far a heading of `dshbak` and `clush -b` was read.
    heading: Heading,
    /// By file: lines of outputs.
    lines: BTreeMap<LogId, u64>,
    /// Files with lines of a dump of PyTorch's flight recorder.
    excerpts: BTreeSet<LogId>,
    refused: u64,
}

/// What texts have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolFacts {
    /// The outputs, in the order in which they end.
    pub outputs: Vec<Found>,
    /// By file: lines of outputs.
    pub lines: BTreeMap<LogId, u64>,
    /// Files with lines of a dump of PyTorch's flight recorder, which is only read as a whole.
    pub excerpts: BTreeSet<LogId>,
}

/// Three lines: dashes, hosts, dashes.
#[derive(Clone, Debug, Default)]
enum Heading {
    #[default]
    None,
    Dashes,
    Host(String),
}

#[derive(Clone, Debug)]
struct Open {
    reader: ToolReader,
    host: Option<String>,
    witness: Witness,
    quote: String,
    lines: u64,
    foreign: u32,
}

/// Most outputs kept: those of 1,000 hosts with 8 NICs and several tools.
const OUTPUTS: usize = 65_536;
/// Most outputs read at once: hosts whose lines a launcher mixes.
const OPEN: usize = 4096;
/// Lines of other programs that may stand within an output.
const FOREIGN: u32 = 10_000;
/// Characters of the first line that are quoted.
const QUOTE: usize = 120;
/// Longest line that is looked at.
const LINE: usize = 64 * 1024;

impl ToolTracker {
    /// Processes the next line of a file, with or without its end; `number` counts from 1. Returns
    /// whether it belongs to an output.
    pub fn observe(&mut self, log: LogId, number: u64, line: &[u8]) -> bool {
        if self.log != Some(log) {
            self.close_all();
            self.log = Some(log);
            self.command = None;
        }
        if line.len() > LINE {
            return false;
        }
        let text = line.trim_ascii();
        self.heading(text);
        if text.first() == Some(&b'"') && DUMP_KEYS.iter().any(|key| text.starts_with(key)) {
            self.excerpts.insert(log);
        }
        if self.open.is_empty() && !may_matter(line) {
            return false;
        }
        let text = clean(line);
        self.line(prefix::undressed(&text), Witness::Line { log, number })
    }

    /// The outputs so far, those that are being read included.
    #[must_use]
    pub fn finish(mut self, health: &mut Health) -> ToolFacts {
        self.close_all();
        health.add(HealthEvent::ToolOutputsDropped, self.refused);
        ToolFacts { outputs: self.found, lines: self.lines, excerpts: self.excerpts }
    }

    /// Follows the headings under which `dshbak` and `clush -b` put a host's output.
    fn heading(&mut self, line: &[u8]) {
        let is_dashes = line.len() >= 8 && line.iter().all(|byte| *byte == b'-');
        self.heading = match (std::mem::take(&mut self.heading), is_dashes) {
            (Heading::Host(host), true) => {
                self.close_all();
                self.command = Some((String::new(), Some(host)));
                Heading::None
            }
            (_, true) => Heading::Dashes,
            (Heading::Dashes, false) if !line.contains(&b' ') && line.len() <= QUOTE => {
                Heading::Host(String::from_utf8_lossy(line).into_owned())
            }
            (_, false) => Heading::None,
        };
    }

    fn line(&mut self, line: &str, witness: Witness) -> bool {
        if let Some((host, rest)) = prefix::host_of(line)
            && self.open.contains_key(host)
        {
            return self.take(host, rest) || self.begin(host, Some(host), rest, witness);
        }
        if self.take("", line) {
            return true;
        }
        if let Some(command) = prefix::command(line) {
            self.close("");
            self.command = Some((command.text.to_owned(), command.host.map(str::to_owned)));
            return false;
        }
        prefix::host_of(line)
            .is_some_and(|(host, rest)| self.begin(host, Some(host), rest, witness))
            || self.begin("", None, line, witness)
    }

    /// Gives a line to the output that is being read; whether it belongs to it.
    fn take(&mut self, key: &str, line: &str) -> bool {
        let Some(open) = self.open.get_mut(key) else { return false };
        let taken = open.reader.take(line);
        match taken {
            Taken::Yes | Taken::Last => {
                open.foreign = 0;
                open.lines += 1;
            }
            Taken::Foreign => open.foreign += 1,
            Taken::End => {}
        }
        if matches!(taken, Taken::End | Taken::Last) || open.foreign > FOREIGN {
            self.close(key);
        }
        matches!(taken, Taken::Yes | Taken::Last)
    }

    /// Begins an output with this line, if it is a first one.
    fn begin(&mut self, key: &str, host: Option<&str>, line: &str, witness: Witness) -> bool {
        let command = self.command.as_ref().map(|(text, _)| text.as_str());
        let Some(reader) = ToolReader::begin(line, command) else { return false };
        self.close(key);
        if self.open.len() >= OPEN {
            self.refused += 1;
            return false;
        }
        let of_prompt = || self.command.as_ref()?.1.clone();
        let host = host.map(str::to_owned).or_else(of_prompt);
        let quote = line.trim().chars().take(QUOTE).collect();
        let is_whole = reader.is_whole();
        let open = Open { reader, host, witness, quote, lines: 1, foreign: 0 };
        self.open.insert(key.to_owned(), open);
        if is_whole {
            self.close(key);
        }
        true
    }

    fn close(&mut self, key: &str) {
        let Some((open, log)) = self.open.remove(key).zip(self.log) else { return };
        let Some(output) = open.reader.finish() else { return };
        if self.found.len() >= OUTPUTS {
            self.refused += 1;
            return;
        }
        let Open { host, witness, quote, lines, .. } = open;
        *self.lines.entry(log).or_default() += lines;
        self.found.push(Found { output, log, host, witness, quote });
    }

    fn close_all(&mut self) {
        while let Some(key) = self.open.keys().next().cloned() {
            self.close(&key);
        }
    }
}

/// Keys that only dumps of PyTorch's flight recorder have, a line each as `fr_trace` and tutorials print
/// them.
// tidy: table
const DUMP_KEYS: &[&[u8]] = &[
    b"\"collective_seq_id\"",
    b"\"last_completed_collective\"",
    b"\"last_enqueued_collective\"",
    b"\"pg_config\"",
    b"\"pg_status\"",
    b"\"time_discovered_completed_ns\"",
];

/// First bytes of outputs.
// tidy: table
const STARTS: &[&[u8]] = &[
    b"\"DOT1P_TO_TC_MAP",
    b"\"DSCP_TO_TC_MAP",
    b"\"MAP_PFC_PRIORITY",
    b"\"PFC_WD",
    b"\"PORT_QOS_MAP",
    b"\"QUEUE",
    b"\"TC_TO_",
    b"\"WRED_PROFILE",
    b"802.1p ",
    b"<graphs",
    b"<system",
    b"CA '",
    b"Cos-tc map",
    b"DCBX",
    b"DEV",
    b"DOT1P-TC-MAP",
    b"DSCP-TC-MAP",
    b"Dscp-tc map",
    b"Egress shared",
    b"GPU0",
    b"IFACE",
    b"Infiniband device '",
    b"Ingress ",
    b"Interface ",
    b"NIC statistics",
    b"PFC-Priority-Queue",
    b"PORT ",
    b"Port ",
    b"Priority trust",
    b"Profile: ",
    b"QUEUE ",
    b"TC-",
    b"Tc - tx-queue",
    b"Tc-",
    b"dot1p-tc policy",
    b"dscp ",
    b"dscp-prio",
    b"dscp-tc policy",
    b"fi_getinfo: ",
    b"fi_info: ",
    b"hca_id",
    b"link ",
    b"nv set qos ",
    b"operational ",
    b"order: ",
    b"pcp ",
    b"pfc-queue policy",
    b"prio-pfc",
    b"provider: ",
    b"qos map ",
    b"qos profile ",
    b"switch-prio",
    b"tc-pg policy",
    b"tc-queue policy",
    b"traffic-class ",
    b"trust-order: ",
];

/// Bytes in which a prompt ends.
const PROMPT: usize = 80;

/// Whether a line may be the first of an output, or a command: cheap, because logs have millions.
fn may_matter(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let behind = |at: usize| text.get(at + 1..).unwrap_or_default().trim_ascii_start();
    // Colours, and the mark of an encoding, hide the start.
    if text.contains(&0x1b) || text.starts_with(b"\xef\xbb\xbf") {
        return true;
    }
    // Of pdsh, `srun --label` and mpirun.
    let start = text.get(..PROMPT).unwrap_or(text);
    let prefix = memchr(b':', start);
    let is_prompt = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let ends_word = |byte: &u8| byte.is_ascii_alphanumeric() || b" ~]:/".contains(byte);
        before.is_none_or(ends_word)
            && (at == 0 || text.get(at + 1) == Some(&b' ') || behind(at).starts_with(b"show "))
    };
    memchr2_iter(b'$', b'#', start).any(is_prompt)
        || memmem::find(start, b">show ").is_some()
        || may_begin(text)
        || text.starts_with(b"> ")
        || (text.starts_with(b"[") || text.starts_with(b"("))
            && text
                .iter()
                .take(PROMPT)
                .position(|byte| matches!(byte, b']' | b')'))
                .is_some_and(|at| may_begin(behind(at)))
        || prefix.is_some_and(|at| may_begin(behind(at)))
}

fn is_start(text: &[u8]) -> bool {
    b"\"8<CDEGINPQTdfhlnopqst".contains(&text[0])
        && STARTS.iter().any(|start| text.starts_with(start))
}

fn may_begin(text: &[u8]) -> bool {
    let Some(last) = text.last() else { return false };
    let is_row = || text[0].is_ascii_digit() && !text.contains(&b':');
    let is_counter = || {
        let colon = text.iter().rposition(|byte| *byte == b':');
        colon.is_some_and(|at| {
            let (name, value) = text.split_at(at);
            let value = value.get(1..).unwrap_or_default().trim_ascii_start();
            value.iter().all(u8::is_ascii_digit) && !name.contains(&b' ')
        })
    };
    match last {
        b'0'..=b'9' if is_row() || is_counter() => true,
        // The last column may be `N/A`.
        b'A' if is_row() => true,
        b')' if text.windows(3).any(|three| three == b"==>") => true,
        b'{' if text == b"{" => true,
        b'}' if text.starts_with(b"{") => {
            [&b"\"coll_perf\""[..], b"_TO_TC_MAP\"", b"PORT_QOS_MAP\""]
                .iter()
                .any(|mark| memmem::find(text, mark).is_some())
        }
        _ => is_start(text),
    }
}
