//! Reads parts, several as one: their items in order of time, then their lanes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zstd::stream::read::Decoder;

use super::error::PartError;
use super::{FORMAT, Head, Item, MAGIC, Missed, Record, Turn};
use railscope_core::pipeline::lane::Lane;

/// Memory that the decoder of zstd may use for looking back: 128 MiB.
const WINDOW_LOG: u32 = 27;

/// Most bytes of a head.
const HEAD_LIMIT: u64 = 16 << 20;

/// Least bytes by which a part that is nothing else is known.
const LEAST: usize = 5;

/// Whether a file that starts so is a part, or the beginning of one.
#[must_use]
pub fn is_part(start: &[u8]) -> bool {
    start.starts_with(MAGIC) || (start.len() >= LEAST && MAGIC.starts_with(start))
}

/// A part whose head was read.
pub struct Part {
    file: String,
    head: Head,
    records: Box<dyn Read + Send>,
    /// What follows, if it is an item.
    next: Option<(Turn, Item)>,
    lanes: Vec<Lane>,
    missed: Missed,
    record: Vec<u8>,
}

impl Part {
    /// Opens the part at `path`, which `version` of the program must have written.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is none.
    pub fn open(path: &Path, version: &str) -> Result<Self, PartError> {
        let file = path.display().to_string();
        let failed = |source| PartError::Io { file: file.clone(), source };
        let mut input = BufReader::new(File::open(path).map_err(failed)?);
        let mut start = [0; MAGIC.len() + 4];
        input
            .read_exact(&mut start)
            .map_err(|error| PartError::Damaged { file: file.clone(), why: error.to_string() })?;
        if !start.starts_with(MAGIC) {
            return Err(PartError::NoPart { file });
        }
        if !start.ends_with(&FORMAT.to_le_bytes()) {
            return Err(PartError::OtherFormat { file });
        }
        let mut records = Decoder::with_buffer(input).map_err(failed)?;
        records.window_log_max(WINDOW_LOG).map_err(failed)?;
        Self::of_records(file, Box::new(records), version)
    }

    /// The part whose decompressed records these are.
    ///
    /// # Errors
    ///
    /// When they are none.
    pub fn of_records(
        file: String,
        records: Box<dyn Read + Send>,
        version: &str,
    ) -> Result<Self, PartError> {
        let mut new = Self {
            file,
            head: Head::default(),
            records,
            next: None,
            lanes: Vec::new(),
            missed: Missed::default(),
            record: Vec::new(),
        };
        match new.read(HEAD_LIMIT)? {
            Record::Head(head) if head.version == version => new.head = head,
            Record::Head(head) => {
                let (file, theirs, ours) = (new.file, head.version, version.to_owned());
                return Err(PartError::OtherVersion { file, theirs, ours });
            }
            _ => return Err(new.damaged("it has no head")),
        }
        new.advance(None)?;
        Ok(new)
    }

    /// What it is of.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    fn damaged(&self, why: impl ToString) -> PartError {
        PartError::Damaged { file: self.file.clone(), why: why.to_string() }
    }

    fn read(&mut self, limit: u64) -> Result<Record, PartError> {
        let mut length = [0; 8];
        self.records.read_exact(&mut length).map_err(|error| self.damaged(error))?;
        let length = u64::from_le_bytes(length);
        if length > limit {
            return Err(self.damaged("a record is too long"));
        }
        self.record.clear();
        // Memory grows with what is there, not with what is said to be.
        let read = self.records.as_mut().take(length).read_to_end(&mut self.record);
        let read = read.map_err(|error| self.damaged(error))?;
        if read as u64 != length {
            return Err(self.damaged("it ends within a record"));
        }
        postcard::from_bytes(&self.record).map_err(|error| self.damaged(error))
    }

    /// Reads the item that follows that of a turn, or all that follows the last one.
    fn advance(&mut self, before: Option<Turn>) -> Result<(), PartError> {
        loop {
            match self.read(u64::MAX)? {
                Record::Item(turn, item) => {
                    let is_in_order = before.is_none_or(|before| before <= turn);
                    if turn.1 >= self.head.captures.len() || !is_in_order || !self.lanes.is_empty()
                    {
                        return Err(self.damaged("its items are not in order"));
                    }
                    self.next = Some((turn, item));
                    return Ok(());
                }
                Record::Lane(lane) if lane.is_consistent() => self.lanes.push(*lane),
                Record::End(missed) if self.lanes.len() == self.head.captures.len() => {
                    self.missed = missed;
                    // The checksum follows.
                    let rest = self.records.read(&mut [0]);
                    return match rest {
                        Ok(0) => Ok(()),
                        Ok(_) => Err(self.damaged("something follows its end")),
                        Err(error) => Err(self.damaged(error)),
                    };
                }
                _ => return Err(self.damaged("its records do not fit each other")),
            }
        }
    }

    fn take(&mut self) -> Result<Option<Item>, PartError> {
        let Some((turn, item)) = self.next.take() else { return Ok(None) };
        self.advance(Some(turn))?;
        Ok(Some(item))
    }
}

/// Parts that are read as one.
pub struct Parts {
    parts: Vec<Part>,
    /// Other names of captures, by their place: of those whose name is in several parts.
    names: Vec<Option<String>>,
    /// The place of the first capture of each.
    first: Vec<usize>,
    /// The next item of each part that has one, by the order of all captures.
    next: BinaryHeap<Reverse<(Turn, usize)>>,
}

impl Parts {
    /// Parts that were opened.
    ///
    /// # Errors
    ///
    /// When two were made with different options.
    pub fn new(parts: Vec<Part>) -> Result<Self, PartError> {
        let first_part = parts.first();
        for part in &parts {
            check_options(part, first_part.unwrap_or(part))?;
        }
        let names = names(&parts);
        let mut places = 0;
        let first = parts.iter().map(|part| {
            let first = places;
            places += part.head.captures.len();
            first
        });
        let first = first.collect();
        let mut new = Self { parts, names, first, next: BinaryHeap::new() };
        (0..new.parts.len()).for_each(|part| new.queue(part));
        Ok(new)
    }

    /// Captures of all parts.
    #[must_use]
    pub fn captures(&self) -> usize {
        self.parts.iter().map(|part| part.head.captures.len()).sum()
    }

    /// What the first part is of: all have the same options.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.parts.first().map(Part::head)
    }

    /// Time of the earliest frame.
    #[must_use]
    pub fn origin(&self) -> Option<railscope_core::model::time::Timestamp> {
        self.parts.iter().filter_map(|part| part.head.origin).min()
    }

    fn queue(&mut self, part: usize) {
        let turn = self.parts.get(part).and_then(|part| part.next.as_ref()).map(|(turn, _)| *turn);
        let first = self.first.get(part).copied().unwrap_or(0);
        if let Some((time, place)) = turn {
            self.next.push(Reverse(((time, first + place), part)));
        }
    }

    /// The next item over all parts and the place of its capture; `None` at the end of all of them.
    ///
    /// # Errors
    ///
    /// When a part is damaged.
    pub fn next_item(&mut self) -> Result<Option<(usize, Item)>, PartError> {
        let Some(Reverse(((_, place), part))) = self.next.pop() else { return Ok(None) };
        let Some(source) = self.parts.get_mut(part) else { return Ok(None) };
        let item = source.take()?;
        self.queue(part);
        let name = self.names.get(place).and_then(Option::as_ref);
        Ok(item.map(|mut item| {
            if let (Item::Tap(tap), Some(name)) = (&mut item, name) {
                name.clone_into(&mut tap.file);
            }
            (place, item)
        }))
    }

    /// The lanes of all captures, by place, and what was missed; after the last item.
    ///
    /// # Errors
    ///
    /// When a capture is in two parts.
    pub fn finish(self) -> Result<(Vec<Lane>, Vec<Missed>), PartError> {
        let missed = self.parts.iter().map(|part| part.missed).collect();
        let mut lanes: Vec<(String, String, Lane)> = Vec::new();
        for part in self.parts {
            for (capture, lane) in part.head.captures.into_iter().zip(part.lanes) {
                let same = lanes.iter().find(|(.., other)| other.is_same(&lane));
                if let Some((other_file, other_capture, _)) = same {
                    let other = [other_file, ":", other_capture].concat();
                    return Err(PartError::Twice { capture, file: part.file, other });
                }
                lanes.push((part.file.clone(), capture, lane));
            }
        }
        let named = lanes.into_iter().zip(self.names).map(|((.., mut lane), name)| {
            if let Some(name) = name {
                lane.rename(&name);
            }
            lane
        });
        Ok((named.collect(), missed))
    }
}

/// What captures are called whose names several parts have, as on hosts that record alike: by their part, too.
fn names(parts: &[Part]) -> Vec<Option<String>> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for capture in parts.iter().flat_map(|part| &part.head.captures) {
        *count.entry(capture).or_default() += 1;
    }
    let name = |part: &Part, capture: &String| {
        let is_shared = count.get(capture.as_str()).is_some_and(|count| *count > 1);
        is_shared.then(|| [part.file.as_str(), ":", capture].concat())
    };
    parts
        .iter()
        .flat_map(|part| part.head.captures.iter().map(move |one| name(part, one)))
        .collect()
}

/// The option of the command line that a report lists by this name.
#[must_use]
pub fn flag(option: &str) -> String {
    option.trim_end_matches("_bps").replace('_', "-")
}

fn check_options(part: &Part, first: &Part) -> Result<(), PartError> {
    let value = |part: &Part, option: &str| {
        part.head.options.get(option).cloned().unwrap_or_else(|| "not given".to_owned())
    };
    let names = part.head.options.keys().chain(first.head.options.keys());
    for option in names {
        let (theirs, ours) = (value(part, option), value(first, option));
        if theirs != ours {
            return Err(PartError::OtherOptions {
                file: part.file.clone(),
                option: flag(option),
                theirs,
                other: first.file.clone(),
                ours,
            });
        }
    }
    Ok(())
}
