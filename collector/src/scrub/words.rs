//! Words and numbers that name nothing of anybody. All else in a text is replaced or dropped.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Words of NCCL's lines, of its libraries and of Linux, one a line. They stay where they stand alone.
static WORDS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("words.txt").lines().collect());

/// The variables that NCCL reads, as `doctor` lists them.
static VARIABLES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let rows = include_str!("../doctor/variable/nccl.txt").lines();
    rows.filter_map(|row| row.split_whitespace().next()).collect()
});

/// How kernels name interfaces and RDMA devices: this, and then only numbers, with one of [`PLACES`]
/// between two.
const DEVICES: &[&str] = &[
    "bnxt_re",
    "bond",
    "cxgb4_",
    "docker",
    "efa_",
    "em",
    "enP",
    "eno",
    "enp",
    "ens",
    "erdma_",
    "eth",
    "hfi1_",
    "hns_",
    "ip6tnl",
    "ib",
    "ibp",
    "ibs",
    "irdma",
    "mlx4_",
    "mlx5_",
    "mlx5_bond_",
    "rdma",
    "rdmap",
    "rocep",
    "roces",
    "rxe",
    "uverbs",
    "veth",
    "virbr",
];

/// Letters between the numbers of an interface: `enp24s0f1np1`, `enp3s0f0npf0vf1`.
const PLACES: &[&str] = &["d", "f", "n", "np", "npf", "p", "s", "v", "vf"];

/// Words that a version or a number follows without a blank.
const BEFORE_NUMBERS: &[&str] = &[
    "GPU",
    "LL",
    "NVLS",
    "cuda",
    "ncclCollNetPlugin_v",
    "ncclNetPlugin_v",
    "ncclProfiler_v",
    "ncclTunerPlugin_v",
    "sm_",
    "v",
];

/// Units that follow a number without a blank.
const UNITS: &[&str] = &[
    "B", "G", "GB", "GiB", "Gb", "K", "KB", "KiB", "M", "MB", "MiB", "h", "m", "min", "ms", "ns",
    "s", "us", "x",
];

/// Most digits of a number that is no address of memory, and no number of anybody's account.
const DIGITS: usize = 11;

/// Whether a word may stay: NCCL's own, a device of the kernel's naming, a number, a version.
#[must_use]
pub fn is_harmless(word: &str) -> bool {
    is_word(word)
        || is_device(word)
        || is_number(word)
        || BEFORE_NUMBERS.iter().any(|before| word.strip_prefix(before).is_some_and(is_number))
}

/// Whether the kernel names interfaces or devices so.
#[must_use]
pub fn is_device(word: &str) -> bool {
    let is_place = |rest: &str| {
        // A letter may tell ports of one device apart: `rxe0b`.
        let rest = rest.strip_suffix(['a', 'b', 'c']).unwrap_or(rest);
        let mut runs = rest.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
        // Numbers and letters take turns, so the last run says that no letters are at the end.
        rest.len() <= 16
            && rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.ends_with(|c: char| c.is_ascii_digit())
            && runs.all(|run| match run.first() {
                Some(first) if first.is_ascii_digit() => run.len() <= 5,
                _ => PLACES.iter().any(|place| place.as_bytes() == run),
            })
    };
    word == "lo" || DEVICES.iter().any(|start| word.strip_prefix(start).is_some_and(is_place))
}

/// Whether a word is one of NCCL's own or of Linux, whatever its shape.
#[must_use]
pub fn is_word(word: &str) -> bool {
    WORDS.contains(word) || VARIABLES.contains(word)
}

/// Digits with one dot or two between them, and nothing else.
pub(super) fn is_decimal(word: &str) -> bool {
    word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// A number, with decimals or a unit; or a version of three numbers, whose first is too small for an address.
fn is_number(word: &str) -> bool {
    // A range: `0..31`.
    if let Some((first, last)) = word.split_once("..") {
        return [first, last].iter().all(|end| !end.contains('.') && is_number(end));
    }
    let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = word.get(number.len()..).unwrap_or_default();
    let parts: Vec<&str> = number.split('.').collect();
    let are_digits = parts
        .iter()
        .all(|part| (1..=DIGITS).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    let is_version = |first: &str| first.len() == 1 && unit.is_empty();
    are_digits
        && (unit.is_empty() || UNITS.contains(&unit))
        && match parts[..] {
            [_] | [_, _] => true,
            [first, _, _] => is_version(first),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_words_even_if_they_are_made_of_words() {
        for harmless in [
            "Bootstrap",
            "NCCL_IB_HCA",
            "mlx5_0",
            "mlx5_bond_0",
            "rxe0b",
            "enp24s0f1np1",
            "enp3s0f0npf0vf1",
            "0..31",
            "eth0",
            "lo",
            "17",
            "0.25",
            "2.27.5",
            "cuda12.9",
            "LL128",
            "100ms",
            "400G",
            "v10",
        ] {
            assert!(is_harmless(harmless), "{harmless}");
        }
        for name in [
            "gpu-node-1",
            "node1",
            "node-1",
            "10.20.30",
            "10.0.0.1",
            "NCCL_ACME",
            "eth0-alice",
            "ethalice",
            "mlx5_alice",
            "ib0acme",
            "ib0vpn",
            "em5sd",
            "enp1dns",
            "eth0v",
            "alice",
            "ALICE",
            "节点",
            "bootstrap.acme",
            "139812345678901",
            "1.2.3.4.5",
            "nodegpu",
            "7alice",
            "",
        ] {
            assert!(!is_harmless(name), "{name}");
        }
    }
}
