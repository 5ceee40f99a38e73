//! The EFA plugin does not run without GPUDirect RDMA.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// No GPUDirect RDMA on an instance type that has it.
pub(super) const CAUSE: LogCause = LogCause {
    id: "efa_gdr_refused",
    what: "aws-ofi-nccl refuses EFA: this instance type has GPUDirect RDMA, and libfabric does not \
           offer it",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/OFI GDR disabled on GDR-supported instance type p4d.24xlarge",
        "NET/OFI GDR support reported to NCCL but then couldn't be configured on an endpoint.  Cannot continue.",
    ],
    proves: |text| {
        text.contains("GDR disabled on GDR-supported instance type")
            || text.contains("GDR support reported to NCCL but then couldn't be configured")
    },
    variables: &["FI_PROVIDER", "FI_HMEM_CUDA_USE_GDRCOPY", "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK"],
    unlike: "No EFA provider at all: then nothing is selected. The warning on the endpoint that \
             follows (`Creating new endpoint ... Invalid argument`) is the same failure.",
    remedy: "Driver first: `cat /sys/class/infiniband/*/device/p2p` on the host must say NVIDIA, else \
             update the EFA driver (EFA installer on the host) and use the driver for GPUs with open \
             kernel modules. Then libfabric, inside the container: `/opt/amazon/efa/bin/fi_info -p \
             efa -t FI_EP_RDM -c FI_HMEM` must list providers. If it lists none and does so without \
             `-c FI_HMEM`, another libfabric is loaded (`ldd` of the plugin, LD_LIBRARY_PATH), or it \
             finds no CUDA: start the container with GPUs, and with FI_LOG_LEVEL=info look for \
             libcuda and libcudart. Take plugin and libfabric from one EFA installer. \
             OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK=1 runs without, slowly.",
    source: "aws-ofi-nccl, platform-aws; aws/aws-ofi-nccl 889",
};
