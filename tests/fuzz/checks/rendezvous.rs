//! Conversations of PyTorch's processes with their TCPStore that are well formed and lie: keys of any rank,
//! lists longer than what follows, answers to nothing, counts beyond all bounds.
//!
//! ```text
//! four bytes per action:   0                       1      2                     3
//!                          query, line, speaker    key    place in `COUNTS`     value
//! ```

use railscope_core::report::Report;

use super::talk::{self, Speaker, Talk};

/// Bytes of an action.
const ACTION_BYTES: usize = 4;

/// Longer scripts find nothing new and take time.
const ACTIONS: usize = 300;

/// Opening of a client: VALIDATE and its number.
const VALIDATION: [u8; 5] = [0x00, 0xce, 0xf7, 0x85, 0x3c];

/// Queries that carry a count of keys.
const COUNTED: [u8; 4] = [5, 6, 10, 11];

/// Keys that PyTorch makes, with a place for a rank or a number.
const KEYS: [&str; 8] = [
    "init/",
    "default_pg/0//0//cuda//0/",
    "store_based_barrier_key:",
    "torchelastic/role/",
    "worker/attempt_0/default_pg/0//cuda//timeout_dump/",
    "0:1/c10d/",
    "/none/torchelastic/",
    "key of nobody ",
];

/// Lengths and counts.
const COUNTS: [u64; 16] =
    [0, 1, 1, 1, 2, 3, 7, 64, 128, 128, 1_000, 65_536, 1 << 20, 1 << 31, 1 << 62, u64::MAX];

/// Clients at most.
const LINES: usize = 8;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    talk::check(|| report_of(data));
}

/// The report on a script.
pub fn report_of(script: &[u8]) -> Report {
    let script = &script[..script.len().min(ACTIONS * ACTION_BYTES)];
    let mut talk = Talk::default();
    let mut lines = [None; LINES];
    let (actions, _) = script.as_chunks::<ACTION_BYTES>();
    for &[head, key, count, value] in actions {
        let place = usize::from(head >> 5);
        let line = *lines[place].get_or_insert_with(|| {
            let line = talk.open(place as u8, (200, 29_500));
            // One of the clients is of PyTorch 2.1.
            let opening = if place == 7 { &[][..] } else { &VALIDATION };
            talk.say(line, Speaker::Client, opening);
            line
        });
        let query = head & 31;
        match query {
            0..19 => talk.say(line, Speaker::Client, &request(query, key, count, value)),
            19 => talk.say(line, Speaker::Server, &[value]),
            20 => talk.say(line, Speaker::Server, &u64::from(value).to_le_bytes()),
            21 => talk.say(line, Speaker::Server, &sized(count, value)),
            22 => {
                // A unique id: its magic, an address, nothing else.
                let mut id = vec![0; 128];
                id[..8].fill(value | 1);
                id[8..16].copy_from_slice(&[2, 0, 0x4e, 0x20, 10, 0, 0, value & 15]);
                let bytes = [&128_u64.to_le_bytes()[..], &id].concat();
                talk.say(line, Speaker::Server, &bytes);
            }
            23 => talk.miss(line, Speaker::Client, u32::from(value) + 1),
            24 => talk.miss(line, Speaker::Server, u32::from(value) + 1),
            25 => {
                talk.end(line, Speaker::Client);
                lines[place] = None;
            }
            _ => talk.say(line, Speaker::Server, &[key, count, value]),
        }
    }
    talk.report()
}

/// A query with its keys and values; the count and the lengths may lie.
fn request(query: u8, key: u8, count: u8, value: u8) -> Vec<u8> {
    let name = format!("{}{}", KEYS[usize::from(key & 7)], key >> 3);
    let key = [&(name.len() as u64).to_le_bytes()[..], name.as_bytes()].concat();
    let mut bytes = vec![query];
    if COUNTED.contains(&query) {
        let claimed = COUNTS[usize::from(count & 15)];
        bytes.extend(claimed.to_le_bytes());
        for _ in 0..claimed.min(9) {
            bytes.extend(&key);
            if query == 11 {
                bytes.extend(sized(value & 15, value));
            }
        }
        return bytes;
    }
    match query {
        0 | 13 => bytes.extend([value; 4]),
        1 | 9 | 14 => bytes.extend([key, sized(count, value)].concat()),
        2 => bytes.extend([key, sized(1, value), sized(count, value)].concat()),
        3 | 8 | 15 | 16 => bytes.extend(key),
        4 | 18 => bytes.extend([&key[..], &COUNTS[usize::from(count & 15)].to_le_bytes()].concat()),
        _ => {}
    }
    bytes
}

/// A length of `COUNTS`, and so many bytes, a thousand at most.
fn sized(count: u8, value: u8) -> Vec<u8> {
    let len = COUNTS[usize::from(count & 15)];
    [&len.to_le_bytes()[..], &vec![value; len.min(1_000) as usize]].concat()
}
