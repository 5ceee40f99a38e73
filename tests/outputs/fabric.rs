//! Libfabric's providers, and NCCL's graphs.

use super::{names, report, titles};

const EFA: &str = "\
provider: efa
    fabric: efa-direct
    domain: rdmap16s27-rdm
    version: 201.0
    type: FI_EP_RDM
    protocol: FI_PROTO_EFA
provider: efa
    fabric: efa
    domain: rdmap16s27-dgrm
    version: 201.0
    type: FI_EP_DGRAM
    protocol: FI_PROTO_EFA
";

const TCP: &str = "\
provider: tcp
    fabric: 10.0.0.0/24
    domain: eth0
    version: 119.0
    type: FI_EP_MSG
    protocol: FI_PROTO_SOCK_TCP
provider: shm
    fabric: shm
    domain: shm
    version: 119.0
    type: FI_EP_RDM
    protocol: FI_PROTO_SHM
";

#[test]
fn efa_is_offered() {
    let well = report(&format!("$ fi_info -p efa\n{EFA}"));
    assert!(well.findings.is_empty());
    let run = &well.nodes[0].providers[0];
    assert_eq!((run.asked.as_deref(), run.endpoints.len()), (Some("efa"), 2));
    let first = &run.endpoints[0];
    assert_eq!((first.provider.as_str(), first.domain.as_deref()), ("efa", Some("rdmap16s27-rdm")));
    assert_eq!(first.endpoint_type.as_deref(), Some("FI_EP_RDM"));
}

#[test]
fn efa_is_not_offered() {
    for error in ["fi_getinfo: -61", "fi_getinfo: -61 (No data available)"] {
        let none = report(&format!("root@n1:~# fi_info -p efa -t FI_EP_RDM\n{error}\n"));
        assert_eq!(titles(&none, "fi_no_provider"), ["n1: libfabric offers no provider efa"]);
        assert_eq!(none.findings[0].severity, "warning");
        assert_eq!(titles(&report(error), "fi_no_provider"), ["libfabric found no provider (-61)"]);
    }
    let other = report("$ fi_info -p cxi\nfi_getinfo: -61\n");
    assert_eq!(other.findings[0].severity, "info");
    let later = report(&format!("$ fi_info -p efa\nfi_getinfo: -61\n$ fi_info -p efa\n{EFA}"));
    assert!(later.findings.is_empty(), "it was installed meanwhile");
}

#[test]
fn only_software_beside_efa_devices() {
    assert!(report(TCP).findings.is_empty(), "other hosts need no libfabric");
    let device = "link rdmap16s27/1 state ACTIVE physical_state LINK_UP\n";
    assert_eq!(
        titles(&report(&format!("{device}$ fi_info\n{TCP}")), "fi_no_provider"),
        ["libfabric offers no provider efa, only shm and tcp; devices: rdmap16s27"]
    );
    assert!(report(&format!("{device}$ fi_info -p tcp\n{TCP}")).findings.is_empty());
    assert!(report(&format!("{device}{EFA}{TCP}")).findings.is_empty());
}

#[test]
fn a_key_in_a_configuration_is_no_output() {
    let report = report("provider: aws\nregion: us-east-1\nprovider: efa\n");
    assert!(report.nodes.is_empty() && report.inputs[0].read == 0);
}

fn graphs(inter: &str, nets: [u32; 2]) -> String {
    let channel = |net: u32| {
        format!(
            "    <channel>\n      <net dev=\"{net}\"/>\n      <gpu dev=\"0\"/>\n      <gpu dev=\"1\"/>\n      <net dev=\"{net}\"/>\n    </channel>\n"
        )
    };
    format!(
        "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" speedintra=\"20\" speedinter=\"0.24\" \
         latencyinter=\"0\" typeintra=\"SYS\" typeinter=\"{inter}\" samechannels=\"0\">\n{}{}  </graph>\n  <graph id=\"1\" pattern=\"1\" \
         nchannels=\"0\" typeintra=\"NVL\" typeinter=\"PIX\"/>\n</graphs>\n",
        channel(nets[0]),
        channel(nets[1])
    )
}

const TOPOLOGY: &str = "<system version=\"1\">\n <cpu numaid=\"0\">\n  <pci busid=\"0000:10:00.0\" class=\"0x060400\">\n\
    \x20  <pci busid=\"0000:11:00.0\" class=\"0x030200\"><gpu dev=\"0\" rank=\"0\"/></pci>\n\
    \x20  <pci busid=\"0000:12:00.0\" class=\"0x020000\"><nic><net name=\"mlx5_0\" dev=\"0\"/></nic></pci>\n\
    \x20  <pci busid=\"0000:13:00.0\" class=\"0x020000\"><nic><net name=\"mlx5_1\" dev=\"1\"/></nic></pci>\n\
    \x20 </pci>\n </cpu>\n</system>\n";

#[test]
fn channels_of_a_graph() {
    let well = report(&format!("{}{TOPOLOGY}", graphs("PIX", [0, 1])));
    assert!(well.findings.is_empty(), "{:?}", names(&well));
    let ring = &well.nodes[0].graphs[0];
    assert_eq!((ring.pattern, ring.channels, &ring.nics[0][..]), (Some("ring"), 2, &[0, 0][..]));
    assert_eq!(
        (ring.speed_intra_mbytes_per_s, ring.speed_inter_mbytes_per_s),
        (Some(20_000), Some(240))
    );
    assert_eq!(well.inputs[0].kind, "topology");
    let unused = report(&format!("{TOPOLOGY}{}", graphs("PIX", [0, 0])));
    assert_eq!(
        titles(&unused, "nics_unused"),
        ["no channel of NCCL uses mlx5_1: its 2 channels use mlx5_0"]
    );
    assert_eq!(unused.findings[0].severity, "info");
    // Numbers of merged NICs are not those of the topology.
    assert!(report(&format!("{TOPOLOGY}{}", graphs("PIX", [2, 2]))).findings.is_empty());
    let one_line = graphs("PIX", [0, 1]).replace('\n', "");
    assert_eq!(report(&one_line).nodes[0].graphs.len(), 2);
    let text = graphs("PIX", [0, 1]);
    assert!(report(&text[..text.len() / 2]).nodes.is_empty());
}

#[test]
fn channels_that_cross_the_host() {
    let far = report(&graphs("SYS", [0, 1]));
    assert_eq!(titles(&far, "graph_far"), ["NCCL's 2 channels reach NICs over SYS"]);
    assert_eq!(far.findings[0].severity, "warning");
    let linked = report(&graphs("SYS", [0, 1]).replace("typeintra=\"SYS\"", "typeintra=\"NVL\""));
    assert_eq!(linked.findings[0].severity, "info");
    for path in ["PIX", "PXB", "PXN", "P2C"] {
        assert!(report(&graphs(path, [0, 1])).findings.is_empty(), "{path}");
    }
    let alone =
        graphs("SYS", [0, 1]).replace("<net dev=\"0\"/>", "").replace("<net dev=\"1\"/>", "");
    assert!(report(&alone).findings.is_empty(), "a node alone has no path to NICs");
}
