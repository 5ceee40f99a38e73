//! What queueing disciplines counted: `tc -s -j qdisc show`.

use anyhow::{Context, Result};
use serde::Deserialize;

/// One queueing discipline.
#[derive(Deserialize)]
pub(super) struct Qdisc {
    kind: String,
    pub(super) drops: u64,
    /// Packets that RED marked; of other kinds 0.
    #[serde(default)]
    pub(super) marked: u64,
}

/// The only one of this kind.
pub(super) fn find(json: &str, kind: &str) -> Result<Qdisc> {
    let all: Vec<Qdisc> = serde_json::from_str(json).context("parse what tc printed")?;
    let mut found = all.into_iter().filter(|qdisc| qdisc.kind == kind);
    found.next().with_context(|| format!("tc shows no {kind}"))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn counts_of_a_kind_are_found() {
        let json = r#"[{"kind":"prio","handle":"1:","packets":820,"drops":0},
            {"kind":"red","parent":"2:1","options":{"ecn":true},"packets":800,"drops":2,"marked":293}]"#;
        let red = find(json, "red").unwrap();
        assert_eq!((red.drops, red.marked), (2, 293));
        assert!(find(json, "netem").is_err());
        assert!(find("", "red").is_err());
    }
}
