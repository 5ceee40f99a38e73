//! PCIe ACS sends peer-to-peer traffic through the root complex.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// PCIe ACS sends peer-to-peer traffic through the root complex.
pub(super) const CAUSE: LogCause = LogCause {
    id: "acs_redirects",
    what: "PCIe ACS redirects peer-to-peer traffic of a bridge through the root complex",
    depth: Depth::Effect,
    severity: Severity::Warning,
    lines: &[
        "ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-",
    ],
    proves: |text| {
        text.split_once("ACSCtl:")
            .is_some_and(|(_, bits)| bits.contains("ReqRedir+") || bits.contains("CmpltRedir+"))
    },
    variables: &["NCCL_NET_GDR_LEVEL", "NCCL_IB_SPLIT_DATA_ON_QPS"],
    unlike: "ACSCap, which says what a bridge could do. A bridge with neither a GPU nor a NIC beneath \
             it does not matter.",
    remedy: "Above a GPU or NIC, GPUDirect RDMA then hangs, fails (status 4), or reaches a fraction of \
             the line rate, while ib_write_bw, which keeps more in flight, looks fine. Clear it: \
             `setpci -s BRIDGE ECAP_ACS+0x6.w=0000`, or ACS off in the BIOS; and boot with iommu=pt, \
             which alone does not clear ACS. In a VM ACS has to stay: ATS on the NIC instead. \
             Afterwards measure again with NCCL_IB_SPLIT_DATA_ON_QPS unset.",
    source: "NCCL troubleshooting, PCI Access Control Services; NVIDIA/nccl issue 2409",
};
