//! Settings that contradict each other.

use super::effective;
use crate::doctor::fact::Facts;
use crate::doctor::fact::environment::Variable;
use crate::doctor::outcome::Outcome;

pub(super) fn judge(facts: &Facts) -> Vec<Outcome> {
    [at_least_and_most(facts), sockets(facts), split(facts), disabled(facts)]
        .into_iter()
        .flatten()
        .collect()
}

fn number(facts: &Facts, name: &str) -> Option<i64> {
    effective(facts, name).map(Variable::number)
}

fn at_least_and_most(facts: &Facts) -> Option<Outcome> {
    let pairs = [
        ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
        ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
        ("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
    ];
    pairs.into_iter().find_map(|(least, most)| {
        let (low, high) = (number(facts, least)?, number(facts, most)?);
        let says = format!("{least}={low} and {most}={high} contradict each other.");
        let source = &effective(facts, least)?.source;
        (low > high).then(|| Outcome::warning(says).seen(source).fix("leave both to NCCL"))
    })
}

/// `NCCL_SOCKET_NTHREADS` x `NCCL_NSOCKS_PERTHREAD` may be 64 at most (NCCL's documentation).
fn sockets(facts: &Facts) -> Option<Outcome> {
    let (threads, sockets) =
        (number(facts, "NCCL_SOCKET_NTHREADS")?, number(facts, "NCCL_NSOCKS_PERTHREAD")?);
    let says = format!(
        "NCCL_SOCKET_NTHREADS={threads} x NCCL_NSOCKS_PERTHREAD={sockets} is more than 64, the most that NCCL takes."
    );
    let source = &effective(facts, "NCCL_SOCKET_NTHREADS")?.source;
    (threads.saturating_mul(sockets) > 64)
        .then(|| Outcome::warning(says).seen(source).fix("a product of 64 at most"))
}

/// Messages cut over queue pairs are small (NCCL: 0 by default since 2.20).
fn split(facts: &Facts) -> Option<Outcome> {
    let is_split = number(facts, "NCCL_IB_SPLIT_DATA_ON_QPS")? == 1;
    let pairs = number(facts, "NCCL_IB_QPS_PER_CONNECTION").filter(|pairs| *pairs > 1)?;
    let says = format!(
        "NCCL_IB_SPLIT_DATA_ON_QPS=1 cuts each message over {pairs} queue pairs: small messages, up to half the bandwidth on RoCE."
    );
    let source = &effective(facts, "NCCL_IB_SPLIT_DATA_ON_QPS")?.source;
    is_split.then(|| {
        Outcome::note(says).seen(source).fix("unset NCCL_IB_SPLIT_DATA_ON_QPS, or measure both")
    })
}

/// What RDMA settings say where RDMA is off.
fn disabled(facts: &Facts) -> Option<Outcome> {
    let off = effective(facts, "NCCL_IB_DISABLE").filter(|set| set.number() != 0)?;
    let hca = effective(facts, "NCCL_IB_HCA")?;
    let says = format!(
        "NCCL_IB_DISABLE=1 ({}) turns off what NCCL_IB_HCA ({}) selects.",
        off.source, hca.source
    );
    Some(Outcome::warning(says).seen(&off.source).fix("unset NCCL_IB_DISABLE"))
}
