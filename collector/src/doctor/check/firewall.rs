//! Does a packet filter drop NCCL's connections?

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;
use crate::doctor::tree::Why;

/// Packet filters.
pub(super) const CHECK: Check =
    Check { name: "firewall", asks: "Can other nodes reach NCCL's TCP ports?", judge };

const SEEN: &str = "`nft -j list ruleset`";

fn judge(facts: &Facts) -> Vec<Outcome> {
    match &facts.firewall {
        Err(missing) if missing.why == Why::Absent => {
            vec![
                Outcome::unseen("Not checked: there is no `nft`.")
                    .seen(SEEN)
                    .fix("`iptables -S INPUT`"),
            ]
        }
        Err(missing) => vec![Outcome::unknown(missing)],
        Ok(firewall) if firewall.dropping.is_empty() && firewall.has_legacy => {
            let says = "Not checked: this kernel has rules of the old iptables, which `nft` does not show.";
            vec![Outcome::unseen(says).seen(SEEN).fix("`iptables-legacy -S INPUT`")]
        }
        Ok(firewall) if firewall.dropping.is_empty() => {
            vec![Outcome::right("No packet filter drops what no rule accepts.").seen(SEEN)]
        }
        Ok(firewall) => {
            let says = format!(
                "{} drops what no rule accepts. NCCL listens on ports that the kernel chooses (/proc/sys/net/ipv4/ip_local_port_range), \
                 on NCCL_SOCKET_IFNAME.",
                list(&firewall.dropping)
            );
            vec![Outcome::note(says).seen(SEEN).fix("accept TCP from the nodes of the job; `railscope doctor ping HOST...` shows whether it passes")]
        }
    }
}
