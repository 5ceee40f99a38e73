//! What nodes of one cluster should have alike: facts as keys and values, without what is each node's own
//! (addresses, names of hosts, counters).

use std::collections::BTreeMap;

use super::fact::Facts;
use super::fact::interface::Interface;
use super::fact::rdma::Port;
use super::fact::software::Library;

/// Values by key: `rdma.mlx5_0.firmware` is `28.39.1002`.
pub type Settings = BTreeMap<String, String>;

/// The settings of a node.
#[must_use]
pub fn of(facts: &Facts) -> Settings {
    let mut settings = Settings::new();
    let mut set = |key: String, value: Option<String>| {
        if let Some(value) = value {
            settings.insert(key, value);
        }
    };
    set(
        "rdma.devices".to_owned(),
        facts.devices.as_ref().ok().map(|devices| devices.len().to_string()),
    );
    for device in facts.devices() {
        let at = format!("rdma.{}", device.name);
        set(format!("{at}.function"), device.function.clone());
        set(format!("{at}.driver"), device.driver.clone());
        set(format!("{at}.firmware"), device.firmware.clone());
        set(format!("{at}.board"), device.board.clone());
        set(format!("{at}.model"), device.model.clone());
        for port in &device.ports {
            of_port(&format!("{at}.{}", port.number), port, &mut set);
        }
        let function = facts.pci.as_ref().ok().zip(device.function.as_ref());
        if let Some(function) = function.and_then(|(pci, address)| pci.functions.get(address)) {
            let link = function.link.map(|link| format!("{} GT/s x{}", link.speed, link.width));
            set(format!("{at}.pcie_link"), link);
            set(format!("{at}.numa"), function.numa.map(|node| node.to_string()));
            set(format!("{at}.iommu"), function.iommu.clone());
            set(
                format!("{at}.max_read_request"),
                function.config.max_read_request.map(|bytes| bytes.to_string()),
            );
        }
    }
    let netdevs = facts
        .devices()
        .iter()
        .flat_map(|device| &device.ports)
        .filter_map(|port| port.netdev.as_deref());
    for interface in netdevs.filter_map(|name| facts.interface(name)) {
        of_interface(interface, &mut set);
    }
    of_node(facts, &mut set);
    settings
}

fn of_port(at: &str, port: &Port, set: &mut impl FnMut(String, Option<String>)) {
    set(format!("{at}.state"), port.state.map(|state| state.name().to_owned()));
    set(format!("{at}.link_layer"), port.link_layer.map(|layer| layer.name().to_owned()));
    set(format!("{at}.gigabits"), port.rate_bps.map(|rate| (rate as f64 / 1e9).to_string()));
    set(format!("{at}.netdev"), port.netdev.clone());
    set(format!("{at}.gid_index"), port.best_gid().map(|gid| gid.index.to_string()));
    set(format!("{at}.traffic_class"), port.traffic_class.clone());
}

fn of_interface(interface: &Interface, set: &mut impl FnMut(String, Option<String>)) {
    let at = format!("net.{}", interface.name);
    set(format!("{at}.mtu"), interface.mtu.map(|mtu| mtu.to_string()));
    let dcb = interface.dcb.as_ref().ok();
    let digits = |values: Vec<u8>| values.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let pfc = dcb.and_then(|dcb| dcb.pfc).map(|pfc| digits(pfc.map(u8::from).to_vec()));
    set(format!("{at}.pfc"), pfc);
    let classes = dcb.and_then(|dcb| dcb.classes).map(|classes| digits(classes.to_vec()));
    set(format!("{at}.traffic_classes"), classes);
    let dscp = dcb.filter(|dcb| !dcb.dscp.is_empty()).map(|dcb| {
        let pairs = dcb.dscp.iter().map(|(dscp, priority)| format!("{dscp}:{priority}"));
        pairs.collect::<Vec<_>>().join(",")
    });
    set(format!("{at}.dscp"), dscp);
    let pause = interface.pause.as_ref().ok();
    let spelt = pause.map(|pause| match (pause.receives, pause.sends) {
        (true, true) => "both",
        (true, false) => "receive",
        (false, true) => "send",
        (false, false) => "off",
    });
    set(format!("{at}.link_pause"), spelt.map(str::to_owned));
    let cnp = interface.cnp.as_ref().ok();
    set(format!("{at}.cnp_dscp"), cnp.map(|cnp| cnp.dscp.to_string()));
    set(format!("{at}.cnp_priority"), cnp.map(|cnp| cnp.priority.to_string()));
    let arp = interface.arp;
    set(format!("{at}.arp_ignore"), arp.ignore.map(|mode| mode.to_string()));
    set(format!("{at}.arp_announce"), arp.announce.map(|mode| mode.to_string()));
    set(format!("{at}.rp_filter"), arp.filter.map(|mode| mode.to_string()));
}

fn of_node(facts: &Facts, set: &mut impl FnMut(String, Option<String>)) {
    let software = &facts.software;
    set("gpu.count".to_owned(), (!facts.gpus.is_empty()).then(|| facts.gpus.len().to_string()));
    set("gpu.driver".to_owned(), software.nvidia_release().map(str::to_owned));
    let joined = |names: Vec<&str>| (!names.is_empty()).then(|| names.join(" "));
    set("nccl.releases".to_owned(), joined(software.nccl_versions().into_iter().collect()));
    set("nccl.plugins".to_owned(), joined(software.plugins.iter().map(String::as_str).collect()));
    let version = |library: &Option<Library>| library.as_ref()?.version.clone();
    set("verbs.release".to_owned(), version(&software.verbs));
    set("libfabric.release".to_owned(), version(&software.libfabric));
    set("node.kernel".to_owned(), facts.place.kernel.clone());
    let options = facts.processor.options.iter().map(String::as_str);
    let of_iommu = options.filter(|option| option.contains("iommu") || option.starts_with("pci="));
    set("node.iommu_options".to_owned(), joined(of_iommu.collect()));
    for (name, version) in &software.modules {
        set(format!("module.{name}"), Some(version.clone().unwrap_or_else(|| "loaded".to_owned())));
    }
    let mode = facts.place.is_rdma_exclusive.map(|is| if is { "exclusive" } else { "shared" });
    set("node.rdma_namespaces".to_owned(), mode.map(str::to_owned));
    let governors: Vec<&str> =
        facts.processor.governors.iter().map(|(name, _)| name.as_str()).collect();
    set("node.governors".to_owned(), joined(governors));
    set("node.isolated_cpus".to_owned(), facts.processor.isolated.clone());
    set("node.huge_pages".to_owned(), facts.resources.huge_pages.map(|bytes| bytes.to_string()));
    let locked = facts.resources.locked.as_ref().ok();
    let spelt =
        locked.map(|limit| limit.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string()));
    set("node.locked_memory".to_owned(), spelt);
    let mut seen = std::collections::BTreeSet::new();
    for variable in facts.variables.iter().filter(|variable| seen.insert(&variable.name)) {
        set(format!("env.{}", variable.name), Some(variable.value.clone()));
    }
}
