//! Providers that libfabric's `fi_info` lists, with and without `-p` and `-t`, and its error.

use super::{Output, Taken, TakesLines};
use crate::model::provider::{Endpoint, Providers};

/// Most endpoints read: 32 NICs with three types, and software providers on each interface.
const ENDPOINTS: usize = 1024;

/// The list, a block for each endpoint.
#[derive(Clone, Debug)]
pub(super) struct FiInfo {
    found: Providers,
}

impl FiInfo {
    /// `provider: efa`, or `fi_getinfo: -61 (No data available)`.
    pub(super) fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        let text = line.trim();
        let command = command.filter(|command| {
            command.split(['|', ';', '&']).next().is_some_and(|first| first.contains("fi_info"))
        });
        let asked = command.and_then(asked);
        let mut found = Providers { asked, ..Providers::default() };
        if let Some(error) = text.strip_prefix("fi_getinfo: ").or(text.strip_prefix("fi_info: ")) {
            found.error = Some(error.split_whitespace().next()?.parse().ok()?);
            found.error.filter(|error| *error < 0)?;
            return Some(Self { found });
        }
        found.endpoints.push(provider(text)?);
        Some(Self { found })
    }

    /// Whether nothing can follow the first line.
    pub(super) const fn is_whole(&self) -> bool {
        self.found.error.is_some()
    }
}

impl TakesLines for FiInfo {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if text.is_empty() {
            return Taken::Yes;
        }
        if let Some(next) = provider(text) {
            if self.found.endpoints.len() >= ENDPOINTS {
                return Taken::End;
            }
            self.found.endpoints.push(next);
            return Taken::Yes;
        }
        let known = text.split_once(':').zip(self.found.endpoints.last_mut());
        let Some(((key, value), last)) = known else { return Taken::End };
        let value = Some(value.trim().to_owned());
        match key {
            "fabric" => last.fabric = value,
            "domain" => last.domain = value,
            "type" => last.kind = value,
            "version" | "protocol" => {}
            _ => return Taken::End,
        }
        Taken::Yes
    }

    fn finish(self) -> Option<Output> {
        // A line `provider: x` stands in other texts, too.
        let is_listed = self.found.endpoints.iter().any(|one| one.kind.is_some());
        (is_listed || self.found.error.is_some()).then_some(Output::Providers(self.found))
    }
}

fn provider(text: &str) -> Option<Endpoint> {
    let name = text.strip_prefix("provider: ")?.trim();
    let is_name = !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b";_-".contains(&byte));
    is_name.then(|| Endpoint { provider: name.to_owned(), ..Endpoint::default() })
}

/// `efa` of `fi_info -p efa -t FI_EP_RDM`, `--provider=efa`, and of `FI_PROVIDER=efa fi_info`.
fn asked(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        if matches!(word, "-p" | "--provider") {
            return words.next().map(str::to_owned);
        }
        let value = ["-p=", "--provider=", "FI_PROVIDER="]
            .iter()
            .find_map(|start| word.strip_prefix(start));
        if let Some(value) = value {
            return Some(value.to_owned());
        }
    }
    None
}
