//! What no file of the node shows.

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// What cannot be seen.
pub(super) const CHECK: Check =
    Check { name: "not_visible", asks: "What does no file of the node show?", judge };

fn judge(facts: &Facts) -> Vec<Outcome> {
    let has_mlx5 =
        facts.devices().iter().any(|device| device.driver.as_deref() == Some("mlx5_core"));
    let has_roce = facts.active_ports().any(|(_, port)| port.is_roce());
    let mut outcomes = Vec::new();
    if has_mlx5 && has_roce {
        let says = "Not checked: adaptive routing of RoCE is a register of the NIC.";
        outcomes.push(
            Outcome::unseen(says)
                .seen("no file")
                .fix("`mlxreg -d ADDRESS --get --reg_name ROCE_ACCEL`"),
        );
    }
    if has_roce {
        let says =
            "Not checked: switches. Their MTU, PFC, ECN and DSCP maps must equal the hosts'.";
        outcomes.push(Outcome::unseen(says).seen("no file").fix("`railscope analyze -` with their `show` output; `railscope doctor ping HOST...` between nodes"));
    }
    outcomes
}
