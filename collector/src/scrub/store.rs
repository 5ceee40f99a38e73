//! A TCPStore of PyTorch: queries, lengths, counts, and unique ids. Of keys, the words that are known stay; of
//! values, unique ids.

use std::collections::VecDeque;

use super::claim::Claims;
use super::pseudonym::Pseudonyms;
use super::words::is_harmless;
use railscope_core::decode::nccl::unique_id;
use railscope_core::decode::tcp_store::{Item, Items, Numbering, Query, Reply, VALIDATION};
use railscope_core::model::nccl::{RANK_LIMIT, UniqueId};

/// Longer than any key, more than a request or a store has of them, and larger than sums and counts.
const KEY_BYTES: u64 = 8 << 10;
const COUNT: u64 = 1 << 24;
const REQUESTS: usize = 1 << 20;
const NUMBER: u64 = 1 << 31;

/// Bytes of a length.
const LENGTH: usize = 8;

/// Requests of a client, whose answers follow.
#[derive(Debug, Default)]
pub(super) struct Asked(VecDeque<(Query, u64)>);

/// A place in a stream; `None` of a reading ends it, and what follows is zero.
struct Reader<'a, 'b> {
    claims: Claims<'a>,
    at: usize,
    pseudonyms: &'b mut Pseudonyms,
}

/// Writes a client's stream anew.
pub(super) fn rewrite_requests(before: &[u8], pseudonyms: &mut Pseudonyms) -> (Vec<u8>, Asked) {
    let mut reader = Reader { claims: Claims::new(before), at: 0, pseudonyms };
    let is_validated = before.starts_with(&VALIDATION);
    let numbering = if is_validated { Numbering::Validated } else { Numbering::Unvalidated };
    let mut asked = Asked::default();
    while let Some(request) = reader.request(numbering) {
        asked.0.push_back(request);
        if asked.0.len() == REQUESTS {
            break;
        }
    }
    (reader.claims.out, asked)
}

/// Writes a server's stream anew: the answers to what was asked.
pub(super) fn rewrite_replies(
    before: &[u8],
    mut asked: Asked,
    pseudonyms: &mut Pseudonyms,
) -> Vec<u8> {
    let mut reader = Reader { claims: Claims::new(before), at: 0, pseudonyms };
    while let Some((query, count)) = asked.0.pop_front() {
        let Some(canceled) = reader.reply(query, count) else { break };
        if canceled {
            asked.0.pop_front();
        }
    }
    reader.claims.out
}

/// The unique id with another address in it.
pub(super) fn other_id(id: &[u8; 128], pseudonyms: &mut Pseudonyms) -> Option<[u8; 128]> {
    let content = unique_id::parse(&UniqueId(*id))?;
    let mut claims = Claims::new(id);
    match content.magic {
        Some(magic) => {
            claims.put(0, pseudonyms.id(magic).to_le_bytes());
            claims.address(8, pseudonyms);
            claims.count(36, RANK_LIMIT);
        }
        None => {
            claims.address(0, pseudonyms);
        }
    }
    claims.out.try_into().ok()
}

impl Reader<'_, '_> {
    /// A request: its query, and how many values it asks for.
    fn request(&mut self, numbering: Numbering) -> Option<(Query, u64)> {
        let [code] = self.claims.bytes(self.at)?;
        let query = numbering.query(code)?;
        self.claims.keep(self.at, 1);
        self.at += 1;
        let (items, count) = match query.items() {
            Items::Once(items) => (items, 1),
            Items::Counted(items) => (items, self.number(COUNT)?),
        };
        for _ in 0..count {
            for item in items {
                match item {
                    Item::Key => self.key()?,
                    Item::Value => self.value()?,
                    Item::Number => self.number(NUMBER).map(|_| ())?,
                    Item::Nonce => {
                        let [_, a, b, c, d] = VALIDATION;
                        if self.claims.bytes(self.at)? == [a, b, c, d] {
                            self.claims.keep(self.at, 4);
                        }
                        self.at += 4;
                    }
                }
            }
        }
        Some((query, count))
    }

    /// A reply. `Some(true)` if it answers the next request, too.
    fn reply(&mut self, query: Query, count: u64) -> Option<bool> {
        match query.reply() {
            Reply::None => {}
            Reply::Nonce => self.at += 4,
            Reply::Byte => {
                let [byte] = self.claims.bytes(self.at)?;
                if byte > 1 {
                    return None;
                }
                self.claims.keep(self.at, 1);
                self.at += 1;
                return Some(byte == 1 && matches!(query, Query::Wait | Query::Barrier));
            }
            Reply::Number => self.number(NUMBER).map(|_| ())?,
            Reply::Value => self.value()?,
            Reply::ValuePerKey => (0..count).try_for_each(|_| self.value())?,
            Reply::ValueIfAny => {
                if self.number(NUMBER)? > 0 {
                    self.value()?;
                }
            }
            Reply::CountedKeys => {
                let count = self.number(COUNT)?;
                (0..count).try_for_each(|_| self.key())?;
            }
        }
        Some(false)
    }

    /// A number of eight bytes; a larger one is none.
    fn number(&mut self, limit: u64) -> Option<u64> {
        let number = self.claims.long(self.at).filter(|number| *number < limit)?;
        self.claims.keep(self.at, LENGTH);
        self.at += LENGTH;
        Some(number)
    }

    fn key(&mut self) -> Option<()> {
        let len = self.number(KEY_BYTES)? as usize;
        let key = self.claims.before.get(self.at..self.at + len)?;
        let other = rewrite_key(key, self.pseudonyms);
        if let Some(place) = self.claims.out.get_mut(self.at..self.at + len) {
            place.copy_from_slice(&other);
        }
        self.at += len;
        Some(())
    }

    fn value(&mut self) -> Option<()> {
        let len = self.number(NUMBER)? as usize;
        let end = self.at.checked_add(len)?;
        if let Some(id) = self.claims.bytes::<128>(self.at).filter(|_| len == 128)
            && let Some(other) = other_id(&id, self.pseudonyms)
        {
            self.claims.put(self.at, other);
        }
        self.at = end;
        Some(())
    }
}

/// A key of the same length: words that are not known become letters.
fn rewrite_key(key: &[u8], pseudonyms: &Pseudonyms) -> Vec<u8> {
    let is_of_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte) || !byte.is_ascii();
    let mut out = Vec::with_capacity(key.len());
    for word in key.chunk_by(|one, other| is_of_word(one) == is_of_word(other)) {
        let is_kept = |word: &str| {
            is_harmless(word) && !pseudonyms.names.is_host(word)
                || word.bytes().all(|byte| byte.is_ascii_punctuation() || byte == b' ')
        };
        match std::str::from_utf8(word) {
            Ok(text) if is_kept(text) => out.extend(word),
            _ => out.extend(pseudonyms.letters(word)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;

    #[test]
    fn of_a_store_only_its_shape_stays() {
        let mut pseudonyms = Pseudonyms::new(Key::new([5; 32]));
        let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let set =
            [&[1][..], &text("default_pg/0//cuda//0"), &text("secret value of acme")].concat();
        let get = [&[3][..], &text("acme/0")].concat();
        let before = [&VALIDATION[..], &set, &get].concat();
        let (after, asked) = rewrite_requests(&before, &mut pseudonyms);
        assert_eq!(after.len(), before.len());
        assert_eq!(asked.0.len(), 3);
        let holds =
            |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
        assert!(
            holds(&after, "default_pg/0//cuda//0")
                && !holds(&after, "acme")
                && !holds(&after, "secret")
        );
        let reply = text("acme");
        let after = rewrite_replies(&reply, asked, &mut pseudonyms);
        assert_eq!(after, [&4_u64.to_le_bytes()[..], &[0; 4]].concat());
    }
}
