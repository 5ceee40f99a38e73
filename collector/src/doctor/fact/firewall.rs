//! Packet filters for packets that the node receives, from nftables (`nft -j list ruleset`), which has those
//! of iptables-nft, firewalld and ufw, too.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::doctor::tree::{Known, Missing, Tree, Why};

/// How long `nft` may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most bytes of its answer: rules of a Kubernetes node are some megabytes.
const ANSWER_LIMIT: u64 = 16 << 20;

/// The filters of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Firewall {
    /// Chains at the hook `input` that drop or reject what none of their rules accepts: `inet filter input`.
    pub dropping: Vec<String>,
    /// Whether there are rules of the old iptables, which `nft` does not show.
    pub has_legacy: bool,
}

impl Firewall {
    /// Asks `nft`.
    ///
    /// # Errors
    ///
    /// Without root, without the program, and below another root.
    pub(super) fn read(tree: &Tree) -> Known<Self> {
        let what = "packet filters (nft list ruleset)";
        tree.of_running_system(what)?;
        let missing = |why| Missing { what: what.to_owned(), why };
        if !nix::unistd::geteuid().is_root() {
            return Err(missing(Why::Denied));
        }
        let text = ask().map_err(|error| Missing::of_error(what, &error))?;
        let json =
            serde_json::from_str(&text).map_err(|error| missing(Why::Failed(error.to_string())))?;
        let legacy = tree.text("/proc/net/ip_tables_names").unwrap_or_default();
        Ok(Self { has_legacy: !legacy.is_empty(), ..Self::of_rules(&json) })
    }

    /// The filters in the JSON of `nft -j list ruleset` (libnftables-json(5)).
    #[must_use]
    pub fn of_rules(json: &Value) -> Self {
        let objects = || json.get("nftables").and_then(Value::as_array).into_iter().flatten();
        let word =
            |object: &Value, key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        // The last rule of each chain decides what no other has.
        let mut last: BTreeMap<Place, bool> = BTreeMap::new();
        for rule in objects().filter_map(|object| object.get("rule")) {
            let place = ["family", "table", "chain"].map(|key| word(rule, key).unwrap_or_default());
            last.insert(place, ends_all(rule));
        }
        let mut dropping = Vec::new();
        for chain in objects().filter_map(|object| object.get("chain")) {
            let place = ["family", "table", "name"].map(|key| word(chain, key).unwrap_or_default());
            let drops =
                word(chain, "policy").as_deref() == Some("drop") || last.get(&place) == Some(&true);
            if word(chain, "hook").as_deref() == Some("input") && drops {
                dropping.push(place.join(" "));
            }
        }
        Self { dropping, has_legacy: false }
    }
}

/// Family, table and name of a chain.
type Place = [String; 3];

/// Whether a rule drops or rejects every packet: as firewalld and iptables end their chains.
fn ends_all(rule: &Value) -> bool {
    let expressions = rule.get("expr").and_then(Value::as_array).into_iter().flatten();
    let kinds: Vec<&String> =
        expressions.filter_map(Value::as_object).flat_map(|one| one.keys()).collect();
    let is_end = |kind: &&String| ["drop", "reject"].contains(&kind.as_str());
    let is_aside = |kind: &&String| ["counter", "log", "comment"].contains(&kind.as_str());
    kinds.last().is_some_and(is_end) && kinds.iter().all(|kind| is_end(kind) || is_aside(kind))
}

#[expect(clippy::disallowed_methods, reason = "a program that hangs must not hang the examination")]
fn ask() -> std::io::Result<String> {
    let mut child = Command::new("nft")
        .args(["-j", "list", "ruleset"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let out = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.map(|out| out.take(ANSWER_LIMIT).read_to_string(&mut text));
        read.transpose().map(|_| text)
    });
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "no answer within a second",
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.join().map_err(|_| std::io::Error::other("its answer could not be read"))?
}
