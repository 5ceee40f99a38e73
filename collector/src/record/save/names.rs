//! Names of addresses: the ranks and hosts behind them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use railscope_core::model::tap::HostName;
use railscope_core::report::Report;

/// Ranks that a name lists one by one.
const LISTED: usize = 4;

/// A name for each address of a rank: `rank3@gpu-node-2`, `rank0-7@gpu-node-1`, `rank3@10.0.0.4`.
pub(super) fn of(report: &Report) -> Vec<HostName> {
    // The communicator with the most ranks numbers the job.
    let world = report.communicators.iter().max_by_key(|one| one.ranks.len());
    let mut known: BTreeMap<IpAddr, (Vec<u32>, Option<&str>)> = BTreeMap::new();
    for rank in world.iter().flat_map(|world| &world.ranks) {
        let nics = rank.nics.iter().map(|nic| nic.address.as_str());
        for address in nics.chain(rank.address.as_deref()) {
            // The address of a control plane may have a port behind it.
            let address = address.parse().ok().or_else(|| {
                address.parse::<std::net::SocketAddr>().ok().map(|address| address.ip())
            });
            let Some(address) = address else { continue };
            let (ranks, host) = known.entry(address).or_default();
            ranks.push(rank.rank);
            *host = host.or(rank.host.as_deref());
        }
    }
    let name = |(address, (mut ranks, host)): (IpAddr, (Vec<u32>, Option<&str>))| {
        ranks.sort_unstable();
        ranks.dedup();
        let host = host.map_or_else(|| address.to_string(), str::to_owned);
        HostName { address, name: format!("rank{}@{host}", list(&ranks)) }
    };
    known.into_iter().map(name).collect()
}

/// `3`, `0-7`, `0+2`, `0+2+4+6+more`.
fn list(ranks: &[u32]) -> String {
    if let [first, .., last] = ranks
        && (last - first) as usize + 1 == ranks.len()
    {
        return format!("{first}-{last}");
    }
    let mut names: Vec<String> = ranks.iter().take(LISTED).map(ToString::to_string).collect();
    if ranks.len() > LISTED {
        names.push("more".to_owned());
    }
    names.join("+")
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn ranks_of_an_address() {
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[0, 1, 2, 3]), "0-3");
        assert_eq!(list(&[0, 2]), "0+2");
        assert_eq!(list(&[0, 2, 4, 6, 8]), "0+2+4+6+more");
    }
}
