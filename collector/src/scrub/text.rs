//! Texts: only what is known to be harmless stays. Addresses, keys and names become others; any other word
//! does, too, or is blanked.

use std::net::{IpAddr, Ipv4Addr};

use super::pseudonym::{Pseudonyms, as_guid};
use super::words::{is_decimal, is_harmless};

/// Numbers behind `0x` below this are counts, states and offsets.
const SMALL: u64 = 1 << 16;

/// A word of NCCL's that an address follows without a blank (`src/transport/net_ib.cc`, `remoteGids%s`).
const GLUED: &str = "remoteGids";

/// How words before a key of memory end, in small letters.
const KEY_WORDS: &[&str] = &["rkey", "lkey", "mkey", "r_key", "l_key"];

/// Words before the LID of a port of InfiniBand, and how others end, in small letters.
const LID_WORDS: &[&str] = &["lid", "flid", "dlid", "slid"];
const LID_WORDS_END: &str = "_lid";

/// What is in words before a GUID, in small letters.
const GUID_WORDS: &[&str] = &["guid", "sys_image"];

/// Words before a number that is random and that readers compare.
const ID_WORDS: &[&str] = &["commid", "commhash", "comm_hash", "magic", "hash"];

/// Words before a hexadecimal number without `0x`, and what follows the one that may have no digit.
const HEX_WORDS: &[&str] = &["busId", "opCount"];
const COUNTED: (&str, &str) = ("opCount", " sendbuff");

/// Most hexadecimal digits of a number in parentheses that is no GUID.
const COUNT_DIGITS: usize = 6;

/// Of a completion that failed, opcode and length are not set: NCCL prints what was on its stack, such as halves
/// of addresses. Then the opcode is none.
const OPCODE: &str = "opcode";
const LENGTH: &str = "len";
const OPCODES: u64 = 256;

/// What stands for a word that is not known and need not be.
const BLANK: &str = "_";

/// What becomes of words that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// A name, the same wherever it stands.
    Name,
    /// Nothing of it is left.
    Blank,
    /// They stay, unless they are names: only to compare reports.
    Keep,
}

/// `text` with nothing but known words, numbers, and pseudonyms.
#[must_use]
pub fn words(text: &str, unknown: Unknown, pseudonyms: &mut Pseudonyms) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    let mut has_garbage = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let last = out.chars().next_back();
        if let Some((taken, replaced)) = address(rest, pseudonyms)
            .or_else(|| separated(rest, pseudonyms))
            .or_else(|| pci(rest))
            .or_else(|| in_halves(rest, pseudonyms).filter(|_| last == Some('(')))
            .or_else(|| groups(rest))
        {
            out.push_str(&replaced);
            rest = rest.get(taken..).unwrap_or_default();
            continue;
        }
        if let Some(glued) = rest.strip_prefix(GLUED) {
            out.push_str(GLUED);
            rest = glued;
            continue;
        }
        let len = rest.len() - rest.trim_start_matches(is_of_word).len();
        let (word, behind) = rest.split_at_checked(len).unwrap_or((rest, ""));
        if word.is_empty() {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let inner = word.trim_matches(['-', '.', '_']);
        let (start, end) = word.split_once(inner).unwrap_or(("", ""));
        let is_in_bracket =
            last == Some('[') && out.chars().rev().nth(1).is_some_and(|c| c.is_ascii_digit());
        has_garbage |= before == OPCODE && inner.parse().is_ok_and(|code: u64| code >= OPCODES);
        let new = if inner.is_empty() {
            String::new()
        } else if has_garbage && [OPCODE, LENGTH].contains(&before) {
            BLANK.to_owned()
        } else if is_port(behind)
            && last != Some('%')
            && inner.bytes().any(|byte| !byte.is_ascii_digit())
        {
            pseudonyms.names.host(inner)
        } else if let Some(digits) = inner.strip_prefix("0x") {
            number(digits, before, pseudonyms)
                .map_or_else(|| BLANK.to_owned(), |it| ["0x", &it].concat())
        } else if let Some(port) = decimal(inner, before, pseudonyms) {
            port
        } else if unknown == Unknown::Keep {
            replaced(inner, unknown, pseudonyms)
        } else if pseudonyms.names.is_refused(inner) {
            BLANK.to_owned()
        } else if let Some(host) = pseudonyms.names.of_host(inner) {
            host.to_owned()
        } else if is_part(inner, last, behind) {
            BLANK.to_owned()
        } else if is_harmless(inner)
            || (is_in_bracket || HEX_WORDS.contains(&before)) && is_short_hex(inner)
            || COUNTED.0 == before
                && behind.starts_with(COUNTED.1)
                && inner.len() <= 16
                && is_hex(inner)
        {
            inner.to_owned()
        } else {
            replaced(inner, unknown, pseudonyms)
        };
        [start, &new, end].iter().for_each(|part| out.push_str(part));
        before = inner;
        rest = behind;
    }
    out
}

/// What stands for a word that is not known.
fn replaced(word: &str, unknown: Unknown, pseudonyms: &mut Pseudonyms) -> String {
    // A number of unknown meaning, of which there may be very many.
    let is_hex = is_hex(word);
    let is_number = is_hex && has_digit(word);
    match unknown {
        Unknown::Name if !is_number => pseudonyms.names.other(word),
        Unknown::Keep if is_hex && word.len() == 16 => {
            let id = u64::from_str_radix(word, 16).unwrap_or_default();
            format!("{:016x}", pseudonyms.id(id))
        }
        Unknown::Keep => pseudonyms.names.get(word).unwrap_or(word).to_owned(),
        _ => pseudonyms.names.get(word).unwrap_or(BLANK).to_owned(),
    }
}

/// Letters, digits and what joins them; of letters that are not ASCII, nothing is known.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') || !c.is_ascii()
}

/// `<45678>`, which follows the name of a peer.
fn is_port(behind: &str) -> bool {
    let inside = behind.strip_prefix('<').and_then(|rest| Some(rest.split_once('>')?.0));
    inside.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// With a digit in it: letters alone may be a name, such as `ada`.
fn is_short_hex(word: &str) -> bool {
    word.len() <= 10 && is_hex(word) && has_digit(word)
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Part of an address: of a network, `10.20/16`, or without what is between two dots, `10..77`. NCCL writes ranges
/// in braces, `{0..31}`.
fn is_part(word: &str, last: Option<char>, behind: &str) -> bool {
    let is_network = || {
        let rest = behind.strip_prefix('/')?;
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let length = rest.get(..rest.len() - number.len())?.parse::<u8>().ok()?;
        // Two rates are no network: `20.000000/20.000000`.
        let goes_on = number.starts_with(|c: char| is_of_word(c));
        Some(length <= 32 && !goes_on && word.split('.').all(|part| part.parse::<u8>().is_ok()))
    };
    is_decimal(word) && is_network().unwrap_or(false) || word.contains("..") && last != Some('{')
}

/// A decimal number that is a LID or a key of memory, as the word before it says.
fn decimal(digits: &str, before: &str, pseudonyms: &Pseudonyms) -> Option<String> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let before = before.to_ascii_lowercase();
    if is_lid(&before) {
        return Some(pseudonyms.lid(digits.parse().ok()?).to_string());
    }
    let is_key = KEY_WORDS.iter().any(|word| before.ends_with(word));
    is_key.then(|| Some(pseudonyms.remote_key(digits.parse().ok()?).to_string()))?
}

fn is_lid(before: &str) -> bool {
    LID_WORDS.contains(&before) || before.ends_with(LID_WORDS_END)
}

/// Hexadecimal digits behind `0x`: an address of memory, a key, an id.
fn number(digits: &str, before: &str, pseudonyms: &mut Pseudonyms) -> Option<String> {
    let value = u64::from_str_radix(digits, 16).ok()?;
    let before = before.to_ascii_lowercase();
    let is_before = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
    let width = digits.len();
    if is_before(KEY_WORDS) {
        let key = u32::try_from(value).ok()?;
        return Some(format!("{:0width$x}", pseudonyms.remote_key(key)));
    }
    if is_before(ID_WORDS) {
        return Some(format!("{:0width$x}", pseudonyms.id(value)));
    }
    if is_lid(&before)
        && let Ok(lid) = u16::try_from(value)
    {
        return Some(format!("{:0width$x}", pseudonyms.lid(lid)));
    }
    if value < SMALL {
        return Some(digits.to_ascii_lowercase());
    }
    if GUID_WORDS.iter().any(|word| before.contains(word)) {
        return Some(format!("{:0width$x}", as_guid(value, |bytes| pseudonyms.guid(bytes))));
    }
    // No process has memory there. It may be an id, whatever is before it.
    if !Pseudonyms::is_place(value) && value > u64::from(u32::MAX) {
        return Some(format!("{:0width$x}", pseudonyms.id(value)));
    }
    Some(format!("{:0width$x}", pseudonyms.virtual_address(value)))
}

/// An IPv4 or IPv6 address at the start.
fn address(rest: &str, pseudonyms: &mut Pseudonyms) -> Option<(usize, String)> {
    let is_end =
        |at: usize| rest.as_bytes().get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let v4 = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let digits = rest.get(..v4)?.trim_end_matches('.');
    if let Ok(address) = digits.parse::<Ipv4Addr>()
        && is_end(digits.len())
    {
        return Some((digits.len(), pseudonyms.address(address.into()).to_string()));
    }
    let v6 = rest.len()
        - rest.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == ':' || c == '.').len();
    let mut text = rest.get(..v6)?;
    while text.matches(':').count() >= 2 {
        let goes_on = rest.as_bytes().get(text.len()) == Some(&b':') && !is_end(text.len() + 1);
        if let Ok(address) = text.parse::<IpAddr>()
            && is_end(text.len())
            && !goes_on
        {
            return Some((text.len(), pseudonyms.address(address).to_string()));
        }
        text = text.get(..text.len() - 1)?;
    }
    None
}

/// A MAC address or GUID in pairs or fours of digits.
fn separated(rest: &str, pseudonyms: &mut Pseudonyms) -> Option<(usize, String)> {
    for (len, size, gap) in [(17, 2, ':'), (17, 2, '-'), (23, 2, ':'), (19, 4, ':')] {
        let Some(text) = rest.get(..len) else { continue };
        let behind = rest.as_bytes().get(len).copied().unwrap_or(b' ');
        if behind.is_ascii_alphanumeric() || behind == b':' {
            continue;
        }
        let parts: Vec<&str> = text.split(gap).collect();
        let is_hex =
            |part: &&str| part.len() == size && part.bytes().all(|b| b.is_ascii_hexdigit());
        if !parts.iter().all(is_hex) {
            continue;
        }
        let value = u64::from_str_radix(&parts.concat(), 16).ok()?;
        let bytes = value.to_be_bytes();
        let replaced: Vec<u8> = match (len, bytes) {
            (17, [_, _, a, b, c, d, e, f]) => pseudonyms.mac([a, b, c, d, e, f]).to_vec(),
            _ => pseudonyms.guid(bytes).to_vec(),
        };
        let digits: Vec<String> = replaced
            .chunks(size / 2)
            .map(|part| part.iter().map(|byte| format!("{byte:02x}")).collect())
            .collect();
        return Some((len, digits.join(&gap.to_string())));
    }
    None
}

/// More groups of hexadecimal digits than a time or a place has: part of an address, or one of InfiniBand.
fn groups(rest: &str) -> Option<(usize, String)> {
    let is_of_group = |c: char| c.is_ascii_hexdigit() || c == ':';
    let len = rest.len() - rest.trim_start_matches(is_of_group).len();
    let text = rest.get(..len).filter(|text| !text.starts_with(':'))?;
    let are_many = text.split(':').filter(|group| !group.is_empty()).count() > 3;
    are_many.then(|| (len, BLANK.to_owned()))
}

/// `0000:1b:00.0`: where a device is. It stays.
fn pci(rest: &str) -> Option<(usize, String)> {
    const SHAPE: &str = "xxxx:xx:xx.x";
    let text = rest.get(..SHAPE.len())?;
    let fits = |(one, shape): (char, char)| {
        if shape == 'x' { one.is_ascii_hexdigit() } else { one == shape }
    };
    let is_end = rest.get(SHAPE.len()..)?.chars().next().is_none_or(|c| !is_of_word(c));
    (is_end && text.chars().zip(SHAPE.chars()).all(fits)).then(|| (SHAPE.len(), text.to_owned()))
}

/// NCCL's numbers in memory order, in parentheses: a GID `(0/100000AFFFF0000)`, the GUID of a NIC
/// `(0/10200feff000000/1/1.25)`, until 2.21 `(10200feff000000/1/1.25)`.
fn in_halves(rest: &str, pseudonyms: &mut Pseudonyms) -> Option<(usize, String)> {
    let is_end = |c: char| !(c.is_ascii_hexdigit() || c == '/');
    let text = rest.get(..rest.find(is_end)?)?;
    let parts: Vec<&str> = text.split('/').collect();
    if let [high, low] = parts[..]
        && rest.as_bytes().get(text.len()) == Some(&b')')
    {
        let [high, low] = [high, low].map(|part| u64::from_str_radix(part, 16).ok());
        return Some((text.len(), gid(high?, low?, pseudonyms)?));
    }
    if parts.len() < 2 || parts.iter().all(|part| part.len() <= COUNT_DIGITS) {
        return None;
    }
    let parts = parts.into_iter().map(|part| match u64::from_str_radix(part, 16) {
        // Letters alone may be a name.
        _ if part.len() <= COUNT_DIGITS && (part.len() <= 2 || has_digit(part)) => part.to_owned(),
        Ok(value) => format!("{:x}", as_guid(value, |bytes| pseudonyms.guid(bytes))),
        Err(_) => BLANK.to_owned(),
    });
    Some((text.len(), parts.collect::<Vec<_>>().join("/")))
}

/// The halves of a GID; `None` if they are two counts.
fn gid(high: u64, low: u64, pseudonyms: &mut Pseudonyms) -> Option<String> {
    if high.max(low) < SMALL {
        return None;
    }
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_le_bytes());
    bytes[8..].copy_from_slice(&low.to_le_bytes());
    let other = u128::from_be_bytes(pseudonyms.gid(bytes));
    let half = |value: u128| (value as u64).swap_bytes();
    Some(format!("{:X}/{:X}", half(other >> 64), half(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;

    fn twice(text: &str, unknown: Unknown) -> String {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        let _ = words(text, unknown, &mut pseudonyms);
        assert!(pseudonyms.names.number());
        words(text, unknown, &mut pseudonyms)
    }

    #[test]
    fn only_what_is_known_stays() {
        let before = "Bootstrap : Using eth0:10.1.2.3<0> mac 52:54:00:12:34:56 fe80::5054:ff:fe12:3456 \
                      commId 0x9f2c4e6d8a1b3c5d rkey 0x1a2b3c buf 0x7f12a4000000 /mnt/alice/llama/train.py \
                      NET/IB/0/GDRDMA -1/-1/-1->0->1 2.27.5 GID 1 (0/100000AFFFF0000) ctsFifoRkey=0x309 \
                      (0/10200feff000000/1/1.25) peer n7.corp<4711> remoteGidsfe80::5054:ff:fe12:3456 \
                      ::10.9.8.7 80:00:02:08:fe:80:00:00:00:00:00:00:24:8a:07:03:00:95:71:23 52:54:00:91:82 10.20.30 节点 ip-10-0-0-7 nodeacme busId 1b000 0[b000] gpu-7 bob@corp";
        let after = twice(before, Unknown::Blank);
        for gone in [
            "10.1.2.3",
            "52:54",
            "12:3456",
            "9f2c4e6d",
            "1a2b3c",
            "7f12a4",
            "alice",
            "llama",
            "train",
            "100000AFFFF",
            "x309",
            "10200fe",
            "n7",
            "corp",
            "9.8.7",
            "10.20.30",
            "节",
            "10-0-0-7",
            "acme",
            "gpu-7",
            "bob",
            "95:71",
            "91:82",
        ] {
            assert!(!after.contains(gone), "{gone}: {after}");
        }
        for kept in [
            "Bootstrap : Using eth0:10.",
            "<0> ",
            "fe80::",
            "commId 0x",
            " rkey 0x",
            " NET/IB/0/GDRDMA -1/-1/-1->0->1 2.27.5",
            "AFFFF0000)",
            "/1/1.25) peer host-1<4711>",
            "busId 1b000 0[b000] ",
        ] {
            assert!(after.contains(kept), "{kept}: {after}");
        }
    }

    #[test]
    fn a_name_is_the_same_wherever_it_stands() {
        let after = twice("Using network acme Using acme at acme2", Unknown::Name);
        assert_eq!(after, "Using network name-1 Using name-1 at name-2");
    }

    #[test]
    fn lids_and_keys_are_numbers_of_their_own() {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        let mut of = |text: &str| words(text, Unknown::Blank, &mut pseudonyms);
        let after = of("LID 309 FLID 21 sm_lid 0x135 invalid 309 rkey 1234567");
        assert!(after.ends_with(&of("rkey 1234567")) && after.contains("invalid 309 "), "{after}");
        let (lid, key) = (pseudonyms.lid(309), pseudonyms.remote_key(1_234_567));
        assert!(lid != 309 && key != 1_234_567);
        assert!(after.starts_with(&format!("LID {lid} ")) && after.contains(&format!("0x{lid:x}")));
        let all: std::collections::BTreeSet<u16> =
            (0..=u16::MAX).step_by(64).map(|lid| pseudonyms.lid(lid)).collect();
        assert_eq!(all.len(), 1024);
        assert!((0xc000..u16::MAX).step_by(999).all(|lid| pseudonyms.lid(lid) >= 0xc000));
    }

    #[test]
    fn guids_have_many_forms() {
        for before in [
            "NET[1.2] - NET/0 (10200feff000000/1/1.25)",
            "NET[1.2] - NET/0 (b8599f0003a0c2b4/1/1.25)",
            "NET/0 (0/b8599f0003a0c2b4/1/1.25)",
            "sys_image 0xb8599f0003a0c2b4",
            "GUID: 0xb8599f0003a0c2b4",
            "NET/0 (ada/10200feff000000/1/1.25)",
        ] {
            let after = twice(before, Unknown::Blank);
            let gone = ["10200feff", "b8599f", "ada"];
            assert!(!gone.iter().any(|it| after.contains(it)), "{after}");
            assert_eq!(after, twice(before, Unknown::Blank));
            assert!(!before.contains("1.25") || after.ends_with("/1/1.25)"), "{after}");
        }
        // The same in all places, and in either way of writing it.
        let after = twice("sys_image 0xb8599f0003a0c2b4 (b8599f0003a0c2b4/1/1.25)", Unknown::Blank);
        let (_, number) = after.split_once("0x").unwrap();
        let (number, other) = number.split_once(" (").unwrap();
        assert_eq!(other.split('/').next(), Some(number.trim_start_matches('0')));
    }

    #[test]
    fn constants_do_not_tell_the_distance_of_addresses() {
        let after = twice(
            "flags 0xffffffffffffffff mask 0xffffffff buf 0x7f12a4000000 at 0xffff888112345678 id 0x12345678",
            Unknown::Blank,
        );
        assert!(after.contains("0xffffffffffffffff") && after.contains("0xffffffff "), "{after}");
        let numbers: Vec<u64> = after
            .split("0x")
            .skip(1)
            .filter_map(|it| u64::from_str_radix(it.split(' ').next()?, 16).ok())
            .collect();
        let shift = numbers[2].wrapping_sub(0x7f12_a400_0000);
        assert_ne!(numbers[3].wrapping_sub(0xffff_8881_1234_5678), shift);
        assert_ne!(numbers[4].wrapping_sub(0x1234_5678), shift);
        assert!(numbers[4] != 0x1234_5678 && numbers[3] != 0xffff_8881_1234_5678, "{after}");
    }

    #[test]
    fn a_host_is_one_though_its_name_is_like_a_device() {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        // What says the host may come last; 4 is a count, whoever has that name.
        let said = "cannot reach rdma07 nor ib3 nor ib3.corp at 4, node rdma08";
        let _ = words(said, Unknown::Blank, &mut pseudonyms);
        for host in ["rdma07", "ib3.corp", "node", "4"] {
            pseudonyms.names.host(host);
        }
        assert!(pseudonyms.names.number());
        let after = words(said, Unknown::Blank, &mut pseudonyms);
        assert!(!after.contains("rdma07") && !after.contains("ib3"), "{after}");
        assert!(after.contains(" 4,") && after.contains("node rdma08"), "{after}");
    }

    #[test]
    fn letters_are_no_numbers_and_networks_no_decimals() {
        for (before, after) in [
            ("3[ada] 3[b000]", "3[_] 3[b000]"),
            ("busId facade busId 1b000", "busId _ busId 1b000"),
            ("opCount ada sendbuff", "opCount ada sendbuff"),
            ("opCount ada", "opCount _"),
            ("status=5 opcode=32656 len=32659 vendor", "status=5 opcode=_ len=_ vendor"),
            ("status=12 opcode=129 len=32659 vendor", "status=12 opcode=129 len=32659 vendor"),
            ("10.20/16 10..77 {0..31} 1.25", "_/16 _ {0..31} 1.25"),
            ("bw 20.000000/20.000000 12.5/12.5", "bw 20.000000/20.000000 12.5/12.5"),
        ] {
            assert_eq!(twice(before, Unknown::Blank), after);
        }
    }
}
