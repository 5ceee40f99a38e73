//! Devices and interfaces that settings select.

use super::{effective, quoted};
use crate::doctor::check::list;
use crate::doctor::fact::Facts;
use crate::doctor::fact::rdma::Device;
use crate::doctor::outcome::Outcome;

pub(super) fn judge(facts: &Facts) -> Vec<Outcome> {
    [hca(facts), interface(facts), ucx(facts), provider(facts)].into_iter().flatten().collect()
}

/// What a list of NCCL selects (NCCL `parseStringList`, `matchIfList`): `^` leaves out, `=` names exactly; else each is
/// the beginning of names. A port may follow behind a colon.
struct Selection<'a> {
    leaves_out: bool,
    is_exact: bool,
    names: Vec<&'a str>,
}

impl<'a> Selection<'a> {
    fn of(value: &'a str) -> Self {
        let (leaves_out, rest) =
            value.strip_prefix('^').map_or((false, value), |rest| (true, rest));
        let (is_exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
        let name = |part: &'a str| part.split(':').next().unwrap_or_default().trim();
        let names = rest.split(',').map(name).filter(|name| !name.is_empty()).collect();
        Self { leaves_out, is_exact, names }
    }

    fn matches(&self, wanted: &str, name: &str) -> bool {
        if self.is_exact { wanted == name } else { name.starts_with(wanted) }
    }

    fn selects(&self, name: &str) -> bool {
        self.names.iter().any(|wanted| self.matches(wanted, name)) != self.leaves_out
    }

    /// Names in it that nothing begins with.
    fn absent(&self, all: &[&str]) -> Vec<String> {
        let absent =
            self.names.iter().filter(|wanted| !all.iter().any(|name| self.matches(wanted, name)));
        absent.map(|name| (*name).to_owned()).collect()
    }
}

/// Ports that NCCL_IB_HCA names whole: `mlx5_0`, `mlx5_0:1`, and not `mlx5` or `^mlx5_0`.
pub(super) fn named_ports(facts: &Facts) -> Vec<(String, Option<u32>)> {
    let Some(set) = effective(facts, "NCCL_IB_HCA") else { return Vec::new() };
    if set.value.starts_with('^') {
        return Vec::new();
    }
    let parts = set.value.trim_start_matches('=').split(',').map(str::trim);
    let ports = parts.map(|part| match part.split_once(':') {
        Some((name, port)) => (name.to_owned(), port.parse().ok()),
        None => (part.to_owned(), None),
    });
    ports.filter(|(name, _)| facts.devices().iter().any(|device| device.name == *name)).collect()
}

/// The devices that NCCL_IB_HCA selects, if it is set.
pub(super) fn devices(facts: &Facts) -> Option<Vec<String>> {
    let set = effective(facts, "NCCL_IB_HCA")?;
    let selection = Selection::of(&set.value);
    let names = facts.devices().iter().map(|device| device.name.clone());
    Some(names.filter(|name| selection.selects(name)).collect())
}

fn hca(facts: &Facts) -> Option<Outcome> {
    let set = effective(facts, "NCCL_IB_HCA")?;
    let selection = Selection::of(&set.value);
    let all: Vec<&str> = facts.devices().iter().map(|device| device.name.as_str()).collect();
    if all.is_empty() {
        return None;
    }
    let selected = devices(facts)?;
    if selected.is_empty() {
        let says = format!(
            "NCCL_IB_HCA={} selects no RDMA device of this node ({}): NCCL falls back to sockets.",
            quoted(&set.value),
            list(&owned(&all))
        );
        return Some(
            Outcome::critical(says).seen(&set.source).fix(format!("NCCL_IB_HCA={}", all.join(","))),
        );
    }
    let absent = selection.absent(&all);
    if !absent.is_empty() && !selection.leaves_out {
        let says = format!(
            "NCCL_IB_HCA names {}, which this node does not have (it has {}): a rail is left out here.",
            list(&absent),
            list(&owned(&all))
        );
        return Some(Outcome::warning(says).seen(&set.source));
    }
    // Without `=` mlx5_1 selects mlx5_10, too.
    let longer: Vec<String> = selected
        .iter()
        .filter(|name| {
            !selection.is_exact
                && !selection.leaves_out
                && !selection.names.contains(&name.as_str())
        })
        .filter(|name| {
            let beginning = selection.names.iter().find(|wanted| name.starts_with(**wanted));
            // `mlx5` is meant for all; `mlx5_1` is the name of a device.
            beginning.is_some_and(|wanted| all.contains(wanted))
        })
        .cloned()
        .collect();
    if longer.is_empty() {
        return None;
    }
    let says = format!(
        "NCCL_IB_HCA={} selects {}, too: names are beginnings of names.",
        quoted(&set.value),
        list(&longer)
    );
    Some(
        Outcome::warning(says)
            .seen(&set.source)
            .fix(format!("NCCL_IB_HCA=={}", selection.names.join(","))),
    )
}

fn interface(facts: &Facts) -> Option<Outcome> {
    let set = effective(facts, "NCCL_SOCKET_IFNAME")?;
    let all = facts.interfaces.as_ref().ok()?;
    let selection = Selection::of(&set.value);
    let selected: Vec<_> = all.iter().filter(|one| selection.selects(&one.name)).collect();
    let is_loopback = selection.names.contains(&"lo") && !selection.leaves_out;
    if is_loopback {
        let says = "NCCL_SOCKET_IFNAME=lo: ranks on other nodes cannot connect.";
        return Some(
            Outcome::warning(says)
                .seen(&set.source)
                .fix("the interface that has the node's address"),
        );
    }
    let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
    if selected.is_empty() {
        let says = format!(
            "NCCL_SOCKET_IFNAME={} selects no interface of this node ({}): NCCL fails at the start.",
            quoted(&set.value),
            list(&names)
        );
        return Some(
            Outcome::critical(says)
                .seen(&set.source)
                .fix("the interface that has the node's address, or unset it"),
        );
    }
    let is_down =
        |state: &Option<String>| matches!(state.as_deref(), Some("down" | "lowerlayerdown"));
    if selected.iter().all(|one| is_down(&one.state)) {
        let says = format!(
            "NCCL_SOCKET_IFNAME={} selects interfaces that are down only.",
            quoted(&set.value)
        );
        return Some(
            Outcome::critical(says)
                .seen(&set.source)
                .fix("the interface that has the node's address"),
        );
    }
    let is_local = |name: &str| {
        ["docker", "virbr", "veth", "cni", "br-"].iter().any(|start| name.starts_with(start))
    };
    let local: Vec<String> =
        selected.iter().map(|one| one.name.clone()).filter(|name| is_local(name)).collect();
    if !local.is_empty() && local.len() == selected.len() {
        let says = format!(
            "NCCL_SOCKET_IFNAME={} selects {}, which no other node reaches.",
            quoted(&set.value),
            list(&local)
        );
        return Some(
            Outcome::warning(says)
                .seen(&set.source)
                .fix("the interface that has the node's address"),
        );
    }
    None
}

/// `UCX_NET_DEVICES=mlx5_0:1,eth0`.
fn ucx(facts: &Facts) -> Option<Outcome> {
    let set = effective(facts, "UCX_NET_DEVICES")?;
    let interfaces = facts.interfaces.as_ref().ok()?;
    let is_known = |name: &str| {
        ["all", "lo"].contains(&name)
            || facts.devices().iter().any(|device| device.name == name)
            || interfaces.iter().any(|one| one.name == name)
    };
    let names =
        set.value.trim_start_matches('^').split(',').filter_map(|name| name.split(':').next());
    let absent: Vec<String> = names
        .filter(|name| !name.is_empty() && !name.contains('*') && !is_known(name))
        .map(str::to_owned)
        .collect();
    if absent.is_empty() {
        return None;
    }
    let says = format!("UCX_NET_DEVICES names {}, which this node does not have.", list(&absent));
    Some(Outcome::warning(says).seen(&set.source))
}

/// Providers of libfabric.
fn provider(facts: &Facts) -> Option<Outcome> {
    let set = effective(facts, "FI_PROVIDER")?;
    let has_efa = facts.devices().iter().any(Device::is_efa);
    let leaves_out = set.value.starts_with('^');
    let names_efa = set.value.trim_start_matches('^').split(',').any(|name| name.trim() == "efa");
    if names_efa && !leaves_out && !has_efa {
        let says =
            "FI_PROVIDER=efa, and this node shows no EFA device: libfabric finds no provider.";
        return Some(Outcome::critical(says).seen(&set.source).fix(
            "Kubernetes: the resource vpc.amazonaws.com/efa; Docker: --device /dev/infiniband/uverbs0; an EFA network interface in the instance",
        ));
    }
    if has_efa && names_efa == leaves_out {
        let says =
            format!("FI_PROVIDER={} leaves EFA out: data goes over TCP.", quoted(&set.value));
        return Some(Outcome::warning(says).seen(&set.source).fix("FI_PROVIDER=efa, or unset it"));
    }
    None
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
