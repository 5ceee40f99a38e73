//! Files: a header, then blocks. They are read in pieces of any length.

use super::communicator::{self, Communicator};
use super::header::{self, Header, NotProfiler};
use super::record::{self, Record};
use super::{Item, byte, high, word};

/// Words of a block's head.
const HEAD: usize = 2;

/// A file as it is read. It holds no more than one header, block head or record.
#[derive(Debug, Default)]
pub struct Stream {
    /// Bytes of a word that is not whole.
    word: Vec<u8>,
    /// Words of what is not whole.
    words: Vec<u64>,
    part: Part,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Header,
    Head,
    /// A block of a kind, with so many words left.
    Block {
        kind: u8,
        own: u64,
        left: u32,
    },
    /// The rest of a block that cannot be read.
    Skipped {
        left: u32,
    },
}

impl Stream {
    /// Takes the next bytes and gives `take` what they complete.
    ///
    /// # Errors
    /// If the file is none of the plugin. Damage further on is an item.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Item)) -> Result<(), NotProfiler> {
        let mut rest = bytes;
        if !self.word.is_empty() {
            let missing = 8_usize.saturating_sub(self.word.len()).min(rest.len());
            let (start, end) = rest.split_at(missing);
            self.word.extend_from_slice(start);
            rest = end;
            let Ok(word) = <[u8; 8]>::try_from(self.word.as_slice()) else { return Ok(()) };
            self.word.clear();
            self.push(u64::from_le_bytes(word), take)?;
        }
        let (words, tail) = rest.as_chunks::<8>();
        for word in words {
            self.push(u64::from_le_bytes(*word), take)?;
        }
        self.word.extend_from_slice(tail);
        Ok(())
    }

    /// Whether no block is open.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.part == Part::Head && self.words.is_empty() && self.word.is_empty()
    }

    /// The file ends here.
    ///
    /// # Errors
    /// If there was not even a header.
    pub fn end(self, take: &mut dyn FnMut(Item)) -> Result<(), NotProfiler> {
        if self.part == Part::Header {
            return Err(Header::decode(&self.words).err().unwrap_or(NotProfiler::Short));
        }
        // The process was killed while it wrote.
        if !self.words.is_empty() || !self.word.is_empty() {
            take(Item::Damaged(self.words.len().max(1) as u64));
        }
        Ok(())
    }

    fn push(&mut self, value: u64, take: &mut dyn FnMut(Item)) -> Result<(), NotProfiler> {
        self.words.push(value);
        match self.part {
            Part::Header => {
                let read = Header::decode(&self.words);
                match read {
                    Err(NotProfiler::Short) => {}
                    Err(error) => return Err(error),
                    Ok(header) => {
                        take(Item::Header(header));
                        self.begin(Part::Head);
                    }
                }
            }
            Part::Head => {
                if self.words.len() == HEAD {
                    let head = word(&self.words, 0);
                    self.open(byte(head, 0), word(&self.words, 1), high(head), take);
                }
            }
            Part::Block { kind, own, left } => self.fill(kind, own, left, take),
            Part::Skipped { left } => {
                self.words.clear();
                self.part = skipped(left.saturating_sub(1));
            }
        }
        Ok(())
    }

    fn begin(&mut self, part: Part) {
        self.words.clear();
        self.part = part;
    }

    /// Begins a block.
    fn open(&mut self, kind: u8, own: u64, left: u32, take: &mut dyn FnMut(Item)) {
        let size = match kind {
            1 => {
                if own > 0 {
                    take(Item::Overwritten(own));
                }
                None
            }
            2 => Some(communicator::WORDS),
            3 => Some(8),
            _ => Some(usize::MAX),
        };
        if size.is_some_and(|size| left as usize != size) {
            take(Item::Damaged(u64::from(left)));
            return self.begin(skipped(left));
        }
        self.begin(if left == 0 { Part::Head } else { Part::Block { kind, own, left } });
    }

    /// Takes the word that was added to a block of which `left` words were missing.
    fn fill(&mut self, kind: u8, own: u64, left: u32, take: &mut dyn FnMut(Item)) {
        let left = left.saturating_sub(1);
        let is_last = left == 0;
        self.part = if is_last { Part::Head } else { Part::Block { kind, own, left } };
        if kind != 1 {
            if is_last {
                if kind == 3 {
                    let lost = std::array::from_fn(|place| word(&self.words, place));
                    take(Item::Counts { records: own, lost });
                } else if let Some(one) = Communicator::decode(&self.words) {
                    take(Item::Communicator(one));
                }
                self.words.clear();
            }
            return;
        }
        let Some(length) = record::length(word(&self.words, 0)) else {
            // Where the next record begins is not known.
            take(Item::Damaged(u64::from(left).saturating_add(1)));
            return self.begin(skipped(left));
        };
        if self.words.len() == length {
            if let Some(record) = Record::decode(&self.words) {
                take(Item::Record(record));
            }
            self.words.clear();
        } else if is_last {
            take(Item::Damaged(self.words.len() as u64));
            self.words.clear();
        }
    }
}

/// What follows when so many words of a block are skipped.
fn skipped(left: u32) -> Part {
    if left == 0 { Part::Head } else { Part::Skipped { left } }
}

const _: () = assert!(header::WORDS >= HEAD);
