//! Pickles of protocol 2 to 5 that hold only dictionaries, lists, tuples, text, numbers, booleans and
//! `None`, as `torch::jit::pickle` and Python's `pickle` write them.
//!
//! Instructions that import or call anything are refused. Depth, size and number of values are limited:
//! a pickle may refer to one value many times.

use serde_json::{Map, Number, Value};

/// Most values, repeated ones included.
const VALUES: usize = 1 << 23;
/// Most bytes of text, repeated ones included.
const TEXT_BYTES: usize = 256 << 20;
/// Deepest nesting.
const DEPTH: usize = 64;

/// Why a pickle cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickleError {
    /// It ends within an instruction, or without STOP.
    Short,
    /// It would run code, or is of an unknown kind: the instruction, and its place.
    Instruction(u8, usize),
    /// An instruction that does not fit the stack, at this place.
    Malformed(usize),
    /// More values, text or nesting than any dump has.
    TooLarge,
}

impl std::fmt::Display for PickleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("it is cut off"),
            Self::Instruction(b'c' | b'R' | b'i' | b'o' | b'b' | 0x81 | 0x93, at) => {
                write!(f, "it would run code (byte {at}), which no dump does")
            }
            Self::Instruction(code, at) => {
                write!(f, "unknown instruction {code:#04x} at byte {at}")
            }
            Self::Malformed(at) => write!(f, "malformed at byte {at}"),
            Self::TooLarge => f.write_str("it holds more than any dump does"),
        }
    }
}

/// A value; containers refer to others by place.
enum Node {
    Plain(Value),
    List(Vec<usize>),
    Dict(Vec<(usize, usize)>),
}

/// On the stack: a value, or the start of a sequence.
#[derive(Clone, Copy)]
enum Item {
    Node(usize),
    Mark,
}

/// Reads a pickle.
///
/// # Errors
///
/// When it has unknown instructions, is malformed or too large.
pub(super) fn read(bytes: &[u8]) -> Result<Value, PickleError> {
    let mut machine =
        Machine { bytes, at: 0, nodes: Vec::new(), stack: Vec::new(), memo: Vec::new() };
    let root = machine.run()?;
    let mut left = Left { values: VALUES, text: TEXT_BYTES };
    machine.value(root, DEPTH, &mut left)
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<Item>,
    /// By number; numbers are given in order.
    memo: Vec<Option<usize>>,
}

/// What may still be built.
struct Left {
    values: usize,
    text: usize,
}

impl Machine<'_> {
    fn run(&mut self) -> Result<usize, PickleError> {
        loop {
            let at = self.at;
            let [code] = self.take::<1>()?;
            match code {
                b'.' => return self.pop(),
                // PROTO and FRAME say nothing that matters here.
                0x80 => drop(self.take::<1>()?),
                0x95 => drop(self.take::<8>()?),
                b'(' => self.stack.push(Item::Mark),
                b'0' => drop(self.stack.pop()),
                b'q' | b'r' | 0x94 | b'h' | b'j' => self.memory(code, at)?,
                b']' => self.push(Node::List(Vec::new()))?,
                b'}' => self.push(Node::Dict(Vec::new()))?,
                b')' => self.push(Node::List(Vec::new()))?,
                b'l' | b't' => {
                    let items = self.down_to_mark()?;
                    self.push(Node::List(items))?;
                }
                0x85..=0x87 => {
                    let count = usize::from(code.saturating_sub(0x84));
                    let first = self.stack.len().checked_sub(count);
                    let items = self.nodes_from(first.ok_or(PickleError::Malformed(at))?)?;
                    self.push(Node::List(items))?;
                }
                b'd' => {
                    let items = self.down_to_mark()?;
                    self.push(Node::Dict(pairs(&items)))?;
                }
                b'a' | b'e' | b's' | b'u' => self.add(code, at)?,
                _ => {
                    let plain = self.plain(code, at)?;
                    self.push(Node::Plain(plain))?;
                }
            }
        }
    }

    /// Remembers the top of the stack, or pushes what was remembered.
    fn memory(&mut self, code: u8, at: usize) -> Result<(), PickleError> {
        let number = match code {
            b'q' | b'h' => usize::from(self.take::<1>()?[0]),
            b'r' | b'j' => u32::from_le_bytes(self.take()?) as usize,
            _ => self.memo.len(),
        };
        if matches!(code, b'h' | b'j') {
            let known = self.memo.get(number).copied().flatten();
            self.stack.push(Item::Node(known.ok_or(PickleError::Malformed(at))?));
            return Ok(());
        }
        // Numbers are at most one for each byte that was read.
        if number > self.at {
            return Err(PickleError::Malformed(at));
        }
        if self.memo.len() <= number {
            self.memo.resize(number.saturating_add(1), None);
        }
        let Some(Item::Node(top)) = self.stack.last().copied() else {
            return Err(PickleError::Malformed(at));
        };
        if let Some(place) = self.memo.get_mut(number) {
            *place = Some(top);
        }
        Ok(())
    }

    /// Adds to the list or dictionary below.
    fn add(&mut self, code: u8, at: usize) -> Result<(), PickleError> {
        let items = match code {
            b'a' => vec![self.pop()?],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.down_to_mark()?,
        };
        let Some(Item::Node(below)) = self.stack.last().copied() else {
            return Err(PickleError::Malformed(at));
        };
        match (self.nodes.get_mut(below), code) {
            (Some(Node::List(list)), b'a' | b'e') => list.extend(items),
            (Some(Node::Dict(dict)), b's' | b'u') => dict.extend(pairs(&items)),
            _ => return Err(PickleError::Malformed(at)),
        }
        Ok(())
    }

    /// Reads a value that is no container.
    fn plain(&mut self, code: u8, at: usize) -> Result<Value, PickleError> {
        let integer = |value: i64| Value::Number(value.into());
        Ok(match code {
            b'N' => Value::Null,
            0x88 | 0x89 => Value::Bool(code == 0x88),
            b'K' => integer(self.take::<1>()?[0].into()),
            b'M' => integer(u16::from_le_bytes(self.take()?).into()),
            b'J' => integer(i32::from_le_bytes(self.take()?).into()),
            0x8a => {
                let len = usize::from(self.take::<1>()?[0]);
                let bytes = self.slice(len)?;
                integer(long(bytes).ok_or(PickleError::Malformed(at))?)
            }
            b'G' => {
                let value = f64::from_be_bytes(self.take()?);
                Number::from_f64(value).map_or(Value::Null, Value::Number)
            }
            b'X' | b'T' => {
                let len = u32::from_le_bytes(self.take()?) as usize;
                self.text(len)?
            }
            0x8c | b'U' => {
                let len = usize::from(self.take::<1>()?[0]);
                self.text(len)?
            }
            0x8d => {
                let len = usize::try_from(u64::from_le_bytes(self.take()?));
                self.text(len.map_err(|_| PickleError::Short)?)?
            }
            _ => return Err(PickleError::Instruction(code, at)),
        })
    }

    fn text(&mut self, len: usize) -> Result<Value, PickleError> {
        Ok(Value::String(String::from_utf8_lossy(self.slice(len)?).into_owned()))
    }

    fn slice(&mut self, len: usize) -> Result<&[u8], PickleError> {
        let end = self.at.checked_add(len).ok_or(PickleError::Short)?;
        let slice = self.bytes.get(self.at..end).ok_or(PickleError::Short)?;
        self.at = end;
        Ok(slice)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        self.slice(N)?.try_into().map_err(|_| PickleError::Short)
    }

    fn push(&mut self, node: Node) -> Result<(), PickleError> {
        if self.nodes.len() >= VALUES {
            return Err(PickleError::TooLarge);
        }
        self.stack.push(Item::Node(self.nodes.len()));
        self.nodes.push(node);
        Ok(())
    }

    fn pop(&mut self) -> Result<usize, PickleError> {
        match self.stack.pop() {
            Some(Item::Node(node)) => Ok(node),
            _ => Err(PickleError::Malformed(self.at)),
        }
    }

    /// Everything down to the last mark.
    fn down_to_mark(&mut self) -> Result<Vec<usize>, PickleError> {
        let mark = self.stack.iter().rposition(|item| matches!(item, Item::Mark));
        let mark = mark.ok_or(PickleError::Malformed(self.at))?;
        let items = self.nodes_from(mark.saturating_add(1))?;
        self.stack.truncate(mark);
        Ok(items)
    }

    fn nodes_from(&mut self, first: usize) -> Result<Vec<usize>, PickleError> {
        let items = self.stack.drain(first..).map(|item| match item {
            Item::Node(node) => Ok(node),
            Item::Mark => Err(PickleError::Malformed(self.at)),
        });
        items.collect()
    }

    /// The value at a place, with all that it refers to.
    fn value(&self, node: usize, depth: usize, left: &mut Left) -> Result<Value, PickleError> {
        let below = depth.checked_sub(1).ok_or(PickleError::TooLarge)?;
        left.values = left.values.checked_sub(1).ok_or(PickleError::TooLarge)?;
        match self.nodes.get(node).ok_or(PickleError::Short)? {
            Node::Plain(value) => {
                let bytes = value.as_str().map_or(0, str::len);
                left.text = left.text.checked_sub(bytes).ok_or(PickleError::TooLarge)?;
                Ok(value.clone())
            }
            Node::List(items) => {
                let items = items.iter().map(|item| self.value(*item, below, left));
                items.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Node::Dict(pairs) => {
                let mut map = Map::new();
                for (key, value) in pairs {
                    let key = match self.value(*key, below, left)? {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    map.insert(key, self.value(*value, below, left)?);
                }
                Ok(Value::Object(map))
            }
        }
    }
}

fn pairs(items: &[usize]) -> Vec<(usize, usize)> {
    let (pairs, _) = items.as_chunks::<2>();
    pairs.iter().map(|[key, value]| (*key, *value)).collect()
}

/// A number in two's complement, the lowest byte first.
fn long(bytes: &[u8]) -> Option<i64> {
    let last = bytes.last().copied().unwrap_or(0);
    let mut full = [if last & 0x80 == 0 { 0 } else { 0xff }; 8];
    full.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(full))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn containers_numbers_and_what_was_seen_before() {
        // {"a": [1, -2, 70000, None, True], "b": ("x", 2**40)}, then "x" again.
        let pickle = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xff\
                       J\x70\x11\x01\x00N\x88eX\x01\x00\x00\x00bq\x03X\x01\x00\x00\x00xq\x04\
                       \x8a\x06\x00\x00\x00\x00\x00\x01\x86X\x01\x00\x00\x00ch\x04u.";
        let expected = serde_json::json!({
            "a": [1, -2, 70_000, null, true], "b": ["x", 1_i64 << 40], "c": "x",
        });
        assert_eq!(read(pickle), Ok(expected));
    }

    #[test]
    fn programs_are_refused() {
        let error = read(b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00lstR.").unwrap_err();
        assert_eq!(error, PickleError::Instruction(b'c', 2));
        assert!(error.to_string().contains("would run code"), "{error}");
    }

    #[test]
    fn lists_of_lists_of_one_list_are_too_large() {
        // Each list holds the one before ten times.
        let mut pickle = b"\x80\x02]q\x00".to_vec();
        for number in 0..20_u8 {
            pickle.extend_from_slice(b"](");
            (0..10).for_each(|_| pickle.extend_from_slice(&[b'h', number]));
            pickle.extend_from_slice(&[b'e', b'q', number + 1]);
        }
        pickle.push(b'.');
        assert_eq!(read(&pickle), Err(PickleError::TooLarge));
        // A list that holds itself.
        assert_eq!(read(b"\x80\x02]q\x00h\x00a."), Err(PickleError::TooLarge));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            codes in prop::collection::vec(prop::sample::select(b"().}]aeustqhKNX\x85\x86\x94".to_vec()), 0..80),
        ) {
            _ = read(&bytes);
            _ = read(&codes);
        }
    }
}
