//! Sentences about records that are not used.

use super::number::counted;
use crate::analysis::roll_call::WhyUnused;
use crate::analysis::roll_call::fit::{Misfit, Reference};

/// A communicator's hash as NCCL logs it.
pub(crate) fn hash(hash: u64) -> String {
    format!("0x{hash:x}")
}

/// Why a record is not used.
#[must_use]
pub fn why_unused(why: &WhyUnused) -> String {
    match why {
        WhyUnused::Unread(why) => why.clone(),
        WhyUnused::Misfit(misfit) => misfits(misfit),
    }
}

fn misfits(misfit: &Misfit) -> String {
    match misfit {
        Misfit::Apart { gap_ns, is_earlier, with } => {
            let gap = gap(*gap_ns);
            let order = if *is_earlier { "before" } else { "after" };
            format!("of another time: {gap} {order} {}", reference(*with))
        }
        Misfit::Size { own, others, with } => format!(
            "of another job: its groups have {}, those of {} {}",
            sizes(own),
            reference(*with),
            sizes(others)
        ),
        Misfit::Communicators => {
            "of another job: none of its communicators was captured or logged".to_owned()
        }
        Misfit::Hosts => "of another job: none of its hosts was captured".to_owned(),
    }
}

/// `27 h`, `3 days`: what does not fit is hours apart.
fn gap(nanos: u64) -> String {
    match nanos / 3_600_000_000_000 {
        hours @ 0..48 => format!("{hours} h"),
        hours => format!("{} days", hours / 24),
    }
}

const fn reference(with: Reference) -> &'static str {
    match with {
        Reference::Packets => "the captures",
        Reference::Dumps => "the other dumps",
    }
}

/// `4 ranks`, `2 and 8 ranks`.
fn sizes(sizes: &[u64]) -> String {
    match sizes {
        [start @ .., last] if !start.is_empty() => {
            let start: Vec<String> = start.iter().map(u64::to_string).collect();
            format!("{} and {}", start.join(", "), counted(*last, "rank"))
        }
        [only] => counted(*only, "rank"),
        _ => "no ranks".to_owned(),
    }
}
