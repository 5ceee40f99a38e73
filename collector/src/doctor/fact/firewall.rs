//! Packet filters for packets that the node receives, from nftables (`nft -j list ruleset`), which has those
//! of iptables-nft, firewalld and ufw, too.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::doctor::tree::{Known, Missing, Tree, Why};

/// How long `nft` may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most bytes of its answer: rules of a Kubernetes node are some megabytes.
const ANSWER_LIMIT: u64 = 16 << 20;

/// The filters of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Firewall {
    /// Chains at the hook `input` that drop what none of their rules accepts: `inet filter input`.
    pub dropping: Vec<String>,
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
        Ok(Self::of_rules(&json))
    }

    /// The filters in the JSON of `nft -j list ruleset` (libnftables-json(5)).
    #[must_use]
    pub fn of_rules(json: &serde_json::Value) -> Self {
        let objects = json.get("nftables").and_then(|list| list.as_array()).into_iter().flatten();
        let chains = objects.filter_map(|object| object.get("chain"));
        let dropping = chains.filter_map(|chain| {
            let word = |key: &str| chain.get(key).and_then(|value| value.as_str());
            let drops = word("hook") == Some("input") && word("policy") == Some("drop");
            drops.then(|| {
                [word("family"), word("table"), word("name")]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        });
        Self { dropping: dropping.collect() }
    }
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
