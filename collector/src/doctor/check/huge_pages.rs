//! Is ordinary memory left beside huge pages?

use bytesize::ByteSize;

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Huge pages.
pub(super) const CHECK: Check =
    Check { name: "huge_pages", asks: "Is ordinary memory left beside huge pages?", judge };

const SEEN: &str = "/proc/meminfo (Hugetlb, HugePages_Total, Hugepagesize, MemTotal)";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let resources = &facts.resources;
    let Some((all, huge)) = resources.memory.zip(resources.huge_pages) else { return Vec::new() };
    let amount = |bytes: u64| ByteSize::b(bytes).display().iec().to_string();
    let outcome = if huge == 0 {
        Outcome::right("No memory is set aside as huge pages; NCCL needs none.")
    } else if huge > all / 2 {
        // Only programs that ask for them get them: PyTorch, NCCL and data loaders do not.
        let says = format!(
            "{} of {} are set aside as huge pages, and training processes cannot use them.",
            amount(huge),
            amount(all)
        );
        Outcome::warning(says)
            .fix("`sysctl -w vm.nr_hugepages=0`, or as many as a service here needs")
    } else {
        Outcome::right(format!("{} of {} are huge pages.", amount(huge), amount(all)))
    };
    vec![outcome.seen(SEEN)]
}
