//! Profiles of WRED and ECN, as SONiC's `show ecn` and `ecnconfig -l` list them.

use super::super::{Output, Taken, TakesLines};
use crate::model::switch::{EcnProfile, SwitchTable};

/// A profile: its name, then a key and a value a line between two lines of dashes.
#[derive(Clone, Debug)]
pub(in super::super) struct Profile {
    found: EcnProfile,
    keys: usize,
    rules: usize,
}

impl Profile {
    /// `Profile: AZURE_LOSSLESS`.
    pub(in super::super) fn begin(line: &str) -> Option<Self> {
        let name = line.trim().strip_prefix("Profile: ")?.trim_matches('*');
        let is_name = !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.|".contains(&byte));
        let found = EcnProfile { name: name.to_owned(), ..EcnProfile::default() };
        is_name.then_some(Self { found, keys: 0, rules: 0 })
    }
}

impl TakesLines for Profile {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if !text.is_empty() && text.bytes().all(|byte| b"- ".contains(&byte)) {
            self.rules = self.rules.saturating_add(1);
            return if self.rules >= 2 { Taken::Last } else { Taken::Yes };
        }
        let mut words = text.split_whitespace();
        let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else {
            return Taken::End;
        };
        match key {
            "ecn" => self.found.ecn = Some(value.to_owned()),
            "green_min_threshold" => self.found.min_bytes = value.parse().ok(),
            "green_max_threshold" => self.found.max_bytes = value.parse().ok(),
            _ if key.ends_with("_threshold")
                || key.ends_with("_probability")
                || key.ends_with("_enable") => {}
            _ => return Taken::End,
        }
        self.keys = self.keys.saturating_add(1);
        Taken::Yes
    }

    fn finish(self) -> Option<Output> {
        let profiles = vec![self.found];
        let table = SwitchTable { profiles, ..SwitchTable::default() };
        (self.keys > 0).then_some(Output::Switch(table))
    }
}
