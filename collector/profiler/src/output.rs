//! The file of a process: the ring's records in blocks, for `railscope analyze`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::communicator::Table;
use crate::count::{self, REASONS};
use crate::host;
use crate::ring::{LANES, Ring, Tail, fixed};

/// Kinds of blocks.
const RECORDS: u64 = 1;
const COMMUNICATORS: u64 = 2;
const COUNTS: u64 = 3;

/// Files of the same name that are stepped aside for.
const SUFFIXES: usize = 100;

/// A file that grows to its limit, then becomes the old one and begins anew.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// `None` after a write has failed, as on a full disk: what is not written is counted as overwritten.
    file: Option<File>,
    written: u64,
    limit: u64,
    tails: [Tail; LANES],
    /// Blocks of one turn.
    buffer: Vec<u8>,
    /// Counts as they were written last: records of the ring, and what was lost.
    counted: (u64, [u64; REASONS]),
}

impl Output {
    /// Begins a file in a folder, which is created if it is not there.
    pub(crate) fn create(folder: &Path, limit: u64) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let name = host::name();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).replace(['/', '\0'], "_");
        let name = if name.is_empty() { "host".into() } else { name };
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for suffix in 0..SUFFIXES {
            let pid = host::pid();
            let name = match suffix {
                0 => format!("{name}.{pid}.railprof"),
                _ => format!("{name}.{pid}.{suffix}.railprof"),
            };
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let mut output = Self {
                        path,
                        file: Some(file),
                        written: 0,
                        limit: limit / 2,
                        tails: [Tail::default(); LANES],
                        buffer: Vec::new(),
                        counted: (0, [0; REASONS]),
                    };
                    output.head();
                    output.write();
                    return Ok(output);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn head(&mut self) {
        self.words(&fixed(0));
    }

    fn words(&mut self, words: &[u64]) {
        for word in words {
            self.buffer.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Adds a block: a word of kind, lane and length in words, a word of the block's own, and its words.
    fn block(&mut self, kind: u64, lane: usize, own: u64, words: &[u64]) {
        let length = u64::try_from(words.len()).unwrap_or(0);
        let lane = u64::try_from(lane).unwrap_or(0);
        self.words(&[kind | lane << 8 | length << 32, own]);
        self.words(words);
    }

    /// Writes the buffer. A write that fails ends the file.
    fn write(&mut self) {
        if let Some(file) = &mut self.file
            && file.write_all(&self.buffer).is_err()
        {
            self.file = None;
        }
        self.written += u64::try_from(self.buffer.len()).unwrap_or(0);
        self.buffer.clear();
    }

    /// Writes communicators that changed; all that run, if the file begins anew.
    pub(crate) fn add_communicators(&mut self, table: &mut Table) {
        if self.written >= self.limit {
            self.begin_anew();
            let running: Vec<_> = table.running().cloned().collect();
            for entry in &running {
                self.block(COMMUNICATORS, 0, 0, &entry.words());
            }
        }
        for entry in table.take_changed() {
            self.block(COMMUNICATORS, 0, 0, &entry.words());
        }
    }

    /// The file becomes the old one.
    fn begin_anew(&mut self) {
        let mut old = self.path.clone().into_os_string();
        old.push(".old");
        self.file = std::fs::rename(&self.path, old)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&self.path))
            .ok();
        self.written = 0;
        self.counted = (0, [0; REASONS]);
        self.head();
    }

    /// Writes what the ring holds and the file has not.
    pub(crate) fn drain(&mut self, ring: &Ring) {
        for lane in 0..LANES {
            let mut tail = self.tails.get(lane).copied().unwrap_or_default();
            let lost = tail.overwritten;
            let at = self.buffer.len();
            self.words(&[0, 0]);
            let buffer = &mut self.buffer;
            ring.drain(lane, &mut tail, &mut |page| {
                // Zeros end a page early; in a file, pages follow each other without.
                let (_, used) = crate::record::whole(page);
                for word in used {
                    buffer.extend_from_slice(&word.to_le_bytes());
                }
            });
            let length = (buffer.len() - at) / 8 - 2;
            if length == 0 && tail.overwritten == lost {
                buffer.truncate(at);
            } else {
                let kind = RECORDS | u64::try_from(lane << 8 | length << 32).unwrap_or(0);
                let head = [kind, tail.overwritten - lost];
                let bytes = head.iter().flat_map(|word| word.to_le_bytes());
                for (to, from) in buffer.iter_mut().skip(at).zip(bytes) {
                    *to = from;
                }
            }
            if let Some(place) = self.tails.get_mut(lane) {
                *place = tail;
            }
            // A long ring is written lane by lane, so that the buffer stays small.
            self.write_if_full();
        }
        let records = (0..LANES).map(|lane| ring.header().records(lane)).sum::<u64>();
        let counts = (records, count::all());
        if counts != self.counted {
            self.counted = counts;
            self.block(COUNTS, 0, records, &counts.1);
        }
        self.write();
    }

    fn write_if_full(&mut self) {
        if self.buffer.len() >= 64 << 10 {
            self.write();
        }
    }
}
