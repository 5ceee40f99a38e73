//! Words of a message: the value after a key, numbers, lists in brackets.

use std::str::FromStr;

/// The word after the word `key`.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == key)?;
    words.next()
}

/// The number after the word `key`; what follows its digits is ignored.
pub(super) fn number<T: FromStr>(text: &str, key: &str) -> Option<T> {
    leading(after(text, key)?)
}

/// The number after `key=`; what follows its digits is ignored.
pub(super) fn assigned<T: FromStr>(text: &str, key: &str) -> Option<T> {
    leading(assigned_word(text, key)?)
}

/// The word after `key=`.
pub(super) fn assigned_word<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The decimal number that a word starts with.
pub(super) fn leading<T: FromStr>(word: &str) -> Option<T> {
    let end = word.char_indices().find(|(at, c)| !(c.is_ascii_digit() || (*at == 0 && *c == '-')));
    word.get(..end.map_or(word.len(), |(at, _)| at))?.parse().ok()
}

/// A hexadecimal number, with `0x` or without; `(nil)` is 0.
pub(super) fn hex(word: &str) -> Option<u64> {
    if word == "(nil)" {
        return Some(0);
    }
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

/// A rank; `Some(None)` if NCCL prints -1, `None` if the word is not a number.
pub(super) fn rank(word: &str) -> Option<Option<u32>> {
    if word == "-1" { Some(None) } else { word.parse().ok().map(Some) }
}

/// A decimal number of seconds, in nanoseconds.
pub(super) fn seconds_ns(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once('.').unwrap_or((word, ""));
    let seconds: u64 = seconds.parse().ok()?;
    let digits = fraction.get(..fraction.len().min(9))?;
    let mut nanos: u64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    for _ in digits.len()..9 {
        nanos = nanos.saturating_mul(10);
    }
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// What stands between `open` and the next `close`.
pub(super) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    Some(text.split_once(open)?.1.split_once(close)?.0)
}

/// The release of `NCCL version 2.27.5+cuda12.9`, and the CUDA release it was built for. RCCL writes
/// `RCCL version : 2.21.5-HEAD:9a0e6a1` or `RCCL version 2.18.3+hip6.0`.
pub(super) fn version(text: &str) -> Option<(crate::model::nccl::Release, Option<&str>)> {
    let text = text.strip_prefix('R').map_or(text, |_| text.get(1..).unwrap_or_default());
    let numbers =
        text.strip_prefix("NCCL version ").or_else(|| text.strip_prefix("CCL version "))?;
    let numbers = numbers.trim_start_matches([':', ' ']);
    let (numbers, cuda) = match numbers.split_once("+cuda") {
        Some((numbers, cuda)) => (numbers, cuda.split_whitespace().next()),
        None => (numbers, None),
    };
    let mut parts = numbers.split('.').map(leading::<u32>);
    let mut part = || parts.next().flatten().filter(|part| *part < 100);
    Some((crate::model::nccl::Release::new(part()?, part()?, part()?), cuda))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let text = "comm 0x1f rank 2 key 0- x=-7, 3.5";
        assert_eq!(after(text, "comm").and_then(hex), Some(0x1f));
        assert_eq!((number::<u32>(text, "rank"), number::<i32>(text, "key")), (Some(2), Some(0)));
        assert_eq!(assigned::<i32>(text, "x"), Some(-7));
        assert_eq!((rank("-1"), rank("4"), rank("-")), (Some(None), Some(Some(4)), None));
        assert_eq!(seconds_ns("59.827020"), Some(59_827_020_000));
        assert_eq!(
            (seconds_ns("3"), seconds_ns("0.1234567891"), seconds_ns("1.x")),
            (Some(3_000_000_000), Some(123_456_789), None)
        );
    }
}
