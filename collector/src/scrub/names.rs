//! Names of hosts, and other words of a job's own: numbered in their order, so that lists which are sorted by
//! names stay sorted.
//!
//! All texts are read twice: names are learned first, then they have pseudonyms.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::words::is_word;

/// Most names.
const NAMES: usize = 1 << 16;

/// Longest name, in bytes; longer ones are no names.
const LONGEST: usize = 256;

/// Most digits of a count: a host whose name is as short a number is not looked for in sentences.
const COUNT_DIGITS: usize = 5;

/// What a name is of. A name of both is a host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Host,
    Other,
}

/// Names and their pseudonyms.
#[derive(Debug, Default)]
pub struct Names {
    seen: BTreeMap<String, Kind>,
    pseudonyms: BTreeMap<String, String>,
    /// All of these.
    given: BTreeSet<String>,
    is_full: bool,
    is_numbered: bool,
    /// Words of the user, in small letters: what holds one of them is not kept.
    refused: Vec<String>,
}

impl Names {
    /// What stands for the name of a host: the same for its whole domain name.
    pub fn host(&mut self, name: &str) -> String {
        let label = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
        let name = if name.parse::<IpAddr>().is_ok() { name } else { label };
        self.learn(name, Kind::Host);
        self.pseudonym(name, "host")
    }

    /// What stands for another name.
    pub fn other(&mut self, name: &str) -> String {
        let host = name.split('.').next().unwrap_or(name);
        if self.seen.get(host) == Some(&Kind::Host) {
            return self.pseudonym(host, "host");
        }
        self.learn(name, Kind::Other);
        self.pseudonym(name, "name")
    }

    /// The pseudonym of a name, if it is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pseudonyms.get(name).map(String::as_str)
    }

    /// What stands for a word that is the name of a host, even if it looks like a device or a number: but not if
    /// NCCL itself uses the word, or it is a count.
    #[must_use]
    pub fn of_host(&self, word: &str) -> Option<&str> {
        self.is_host(word).then(|| self.get(word))?
    }

    /// Whether a word is the name of a host, as above.
    #[must_use]
    pub fn is_host(&self, word: &str) -> bool {
        let is_count = word.len() <= COUNT_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
        self.seen.get(word) == Some(&Kind::Host) && !is_count && !is_word(word)
    }

    /// No word with `part` in it stays, in capital or small letters.
    pub fn refuse(&mut self, part: &str) {
        self.refused.push(part.to_lowercase());
    }

    /// Whether a word has such a part.
    #[must_use]
    pub fn is_refused(&self, word: &str) -> bool {
        !self.refused.is_empty() && {
            let word = word.to_lowercase();
            self.refused.iter().any(|part| word.contains(part))
        }
    }

    /// Such parts.
    pub fn refused(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(String::as_str)
    }

    fn learn(&mut self, name: &str, kind: Kind) {
        if self.is_numbered {
            return;
        }
        if let Some(known) = self.seen.get_mut(name) {
            *known = kind.min(*known);
        } else if self.seen.len() < NAMES {
            if name.len() <= LONGEST {
                self.seen.insert(name.to_owned(), kind);
            }
        } else {
            self.is_full = true;
        }
    }

    fn pseudonym(&self, name: &str, otherwise: &str) -> String {
        self.pseudonyms.get(name).cloned().unwrap_or_else(|| format!("{otherwise}-0"))
    }

    /// Numbers the names: from now on no other is learned. `false` if there were too many.
    pub fn number(&mut self) -> bool {
        for (kind, word) in [(Kind::Host, "host"), (Kind::Other, "name")] {
            let all: Vec<&String> =
                self.seen.iter().filter(|(_, one)| **one == kind).map(|(name, _)| name).collect();
            let width = all.len().to_string().len();
            let numbered = (1..).zip(all);
            self.pseudonyms.extend(
                numbered.map(|(number, name)| (name.clone(), format!("{word}-{number:0width$}"))),
            );
        }
        self.given = self.pseudonyms.values().cloned().collect();
        self.is_numbered = true;
        !self.is_full
    }

    /// Whether a word stands for a name.
    #[must_use]
    pub fn is_pseudonym(&self, word: &str) -> bool {
        self.given.contains(word)
    }

    /// Originals.
    pub fn originals(&self) -> impl Iterator<Item = &str> {
        self.seen.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_names_are_an_error() {
        let mut names = Names::default();
        (0..=NAMES).for_each(|number| {
            names.other(&number.to_string());
        });
        assert!(!names.number());
    }

    #[test]
    fn names_keep_their_order() {
        let mut names = Names::default();
        for host in ["gpu-b", "gpu-a.corp", "gpu-c"] {
            assert_eq!(names.host(host), "host-0");
        }
        names.other("ifacme");
        assert!(names.number());
        let all = ["gpu-a", "gpu-b.x.y", "gpu-c", "gpu-d"].map(|name| names.host(name));
        assert_eq!(all, ["host-1", "host-2", "host-3", "host-0"]);
        assert_eq!(
            ["ifacme", "gpu-a", "new"].map(|name| names.other(name)),
            ["name-1", "host-1", "name-0"]
        );
    }
}
