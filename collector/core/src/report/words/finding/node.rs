//! Titles about nodes and benchmarks, as outputs of other tools show them.

use super::super::number::{bit_rate, byte_rate, bytes, count, counted};
use crate::analysis::finding::claim::node::{NodeClaim, Period};

/// Names written out.
const SHOWN: usize = 4;

pub(super) fn title(claim: &NodeClaim) -> String {
    match claim {
        NodeClaim::NoRoutableGid { host, ports, routable, missing_index } => {
            let verb = if ports.len() == 1 { "has" } else { "have" };
            let index = missing_index.map(|index| format!("; index {index} does not exist there"));
            let others = match routable.as_slice() {
                [] => String::new(),
                [(port, index)] => format!("; {port} has one at index {index}"),
                several => format!("; {} have one", names(several.iter().map(|(port, _)| port))),
            };
            format!(
                "{}{} {verb} no routable RoCE v2 GID{}{others}",
                at(host.as_deref()),
                names(ports),
                index.unwrap_or_default()
            )
        }
        NodeClaim::PortsDown { host, down, up } => {
            let all = (down.len() + up.len()) as u64;
            let verb = if down.len() == 1 { "is" } else { "are" };
            let up = match up.as_slice() {
                [] => String::new(),
                up => format!("; up: {}", names(up)),
            };
            let down_of = format!("{} of {}", down.len(), counted(all, "RDMA port"));
            format!("{}{down_of} {verb} down: {}{up}", at(host.as_deref()), names(down))
        }
        NodeClaim::NoSubnetManager { host, ports } => {
            let verb = if ports.len() == 1 { "waits" } else { "wait" };
            format!("{}{} {verb} for a subnet manager: INIT", at(host.as_deref()), names(ports))
        }
        NodeClaim::PortSlower { host, ports, usual_bps, twins } => {
            let of = |(port, rate): &(String, u64)| format!("{port} at {}", bit_rate(*rate as f64));
            let ports: Vec<String> = ports.iter().map(of).collect();
            let verb = if ports.len() == 1 { "is" } else { "are" };
            format!(
                "{}{} {verb} slower than {} of the same kind at {}",
                at(host.as_deref()),
                names(&ports),
                counted(*twins, "port"),
                bit_rate(*usual_bps as f64)
            )
        }
        NodeClaim::LinkLayersMixed { host, infiniband, roce } => format!(
            "{}InfiniBand and RoCE on one node: {} and {}",
            at(host.as_deref()),
            names(infiniband),
            names(roce)
        ),
        NodeClaim::SmallMtu { host, ports, possible } => {
            let mtu = ports.first().map_or(0, |(_, mtu)| *mtu);
            let ports = names(ports.iter().map(|(port, _)| port));
            format!("{}path MTU {mtu} on {ports}; {possible} is possible", at(host.as_deref()))
        }
        NodeClaim::PfcOff { host, interfaces, trusts_pcp } => {
            let interfaces = match interfaces.as_slice() {
                [] => String::new(),
                interfaces => format!(" on {}", names(interfaces)),
            };
            let trust = match trusts_pcp {
                true => ", and the PCP is trusted: a DSCP chooses no priority",
                false => "",
            };
            format!("{}PFC is off on all priorities{interfaces}{trust}", at(host.as_deref()))
        }
        NodeClaim::QosDiffers { what, values } => {
            let of_value = |(value, interfaces): &(String, Vec<String>)| {
                format!("{value} on {}", names(interfaces))
            };
            let values: Vec<String> = values.iter().map(of_value).collect();
            format!("{what} differs: {}", values.join("; "))
        }
        NodeClaim::HostDrops { period, device, counters, received } => {
            let of =
                received.map(|received| format!(" of {} received", counted(received, "packet")));
            let of = of.unwrap_or_default();
            format!(
                "{} dropped packets at the receiver {}: {}{of}",
                nic(device),
                when(*period),
                list(counters)
            )
        }
        NodeClaim::AllowanceExceeded { period, device, counters } => {
            format!(
                "{} exceeded the instance's allowance {}: {}",
                nic(device),
                when(*period),
                list(counters)
            )
        }
        NodeClaim::RequestErrors { period, device, counters, failed } => {
            let failed = (*failed > 0).then(|| {
                format!("{} with an error other than a flush", counted(*failed, "completion"))
            });
            let counters = (!counters.is_empty()).then(|| list(counters));
            let parts: Vec<String> = counters.into_iter().chain(failed).collect();
            let parts = parts.join(", ");
            format!("{} counted RDMA errors {}: {parts}", nic(device), when(*period))
        }
        NodeClaim::PauseSent { period, device, priority, sent, received } => {
            let priority = priority.map(|priority| format!(" on priority {priority}"));
            format!(
                "{} sent {} pause frames{} {} and received {}",
                nic(device),
                count(*sent),
                priority.unwrap_or_default(),
                when(*period),
                count(*received)
            )
        }
        NodeClaim::FarFromNic { host, gpus, distance } => {
            let verb = if gpus.len() == 1 { "has" } else { "have" };
            format!(
                "{}{} {verb} no NIC nearer than {}",
                at(host.as_deref()),
                names(gpus.iter().map(|(gpu, _)| gpu)),
                distance.name()
            )
        }
        NodeClaim::NoProvider { host, missing, listed, devices } => {
            let what = match missing {
                Some(missing) => format!("libfabric offers no provider {missing}"),
                None => "libfabric found no provider (-61)".to_owned(),
            };
            let listed = match listed.as_slice() {
                [] => String::new(),
                listed => format!(", only {}", names(listed)),
            };
            let devices = match devices.as_slice() {
                [] => String::new(),
                devices => format!("; devices: {}", names(devices)),
            };
            format!("{}{what}{listed}{devices}", at(host.as_deref()))
        }
        NodeClaim::NicsUnused { host, unused, used, channels } => format!(
            "{}no channel of NCCL uses {}: its {} use {}",
            at(host.as_deref()),
            names(unused),
            counted(*channels, "channel"),
            names(used)
        ),
        NodeClaim::GraphFar { host, path, channels } => format!(
            "{}NCCL's {} reach NICs over {path}",
            at(host.as_deref()),
            counted(*channels, "channel")
        ),
        NodeClaim::BandwidthLow {
            operation,
            nranks,
            bytes: size,
            bus_bandwidth,
            line_rate_bps,
        } => {
            let ranks = nranks.map(|ranks| format!(" of {}", counted(u64::from(ranks), "rank")));
            let share = *bus_bandwidth as f64 * 800.0 / (*line_rate_bps).max(1) as f64;
            format!(
                "{operation}{} reaches {} bus bandwidth at {}: {share:.0} % of {}",
                ranks.unwrap_or_default(),
                byte_rate(*bus_bandwidth),
                bytes(*size),
                bit_rate(*line_rate_bps as f64)
            )
        }
        NodeClaim::WrongValues { operation, wrong, bytes: size } => format!(
            "{operation} gave wrong results: {} from {} on",
            counted(*wrong, "value"),
            bytes(*size)
        ),
    }
}

const fn when(period: Period) -> &'static str {
    match period {
        Period::SinceBoot => "since boot",
        Period::BetweenReadings => "between two readings",
    }
}

fn at(host: Option<&str>) -> String {
    host.map_or_else(String::new, |host| format!("{host}: "))
}

fn nic(device: &Option<String>) -> &str {
    device.as_deref().unwrap_or("the NIC")
}

/// `out_of_buffer 135, rx_missed 401`.
fn list(counters: &[(String, u64)]) -> String {
    let of = |(name, value): &(String, u64)| format!("{name} {}", count(*value));
    let shown: Vec<String> = counters.iter().take(SHOWN).map(of).collect();
    let more = counters.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

pub(super) fn names<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
    let all: Vec<&str> = all.into_iter().map(String::as_str).collect();
    match all.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [before @ .., last] if all.len() <= SHOWN => format!("{} and {last}", before.join(", ")),
        all => format!("{} and {} more", all[..SHOWN].join(", "), all.len() - SHOWN),
    }
}
