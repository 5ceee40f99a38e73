//! Data goes through the host's memory although NICs could reach the GPUs.

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::distinct;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::{Process, WithoutGpuDirect};

/// GPUDirect RDMA is off.
pub const KIND: Kind = Kind {
    id: "gpu_direct_off",
    about: "NCCL does not use GPUDirect RDMA for some NICs: data between GPU and NIC is copied through \
            the host's memory, at a fraction of the rate of a 200 or 400 Gb/s port.",
    threshold: "`GPU Direct RDMA Disabled` in the log of a process that uses NET/IB. The reason is the \
                distance of GPU and NIC, if the line has one, else a missing kernel module.",
    remedy: "Load nvidia-peermem built for this OFED and driver (`lsmod | grep peermem`; nv_peer_mem \
             on old drivers), or use DMA-BUF: kernel 5.12, open GPU kernel modules and rdma-core 34 or \
             later. Loaded, and still off: it did not register \
             (/sys/kernel/mm/memory_peers/nv_mem is missing, dmesg says nothing), because it was built \
             without this OFED. Install OFED first, then build the driver's modules on this host \
             (DKMS; the distribution's prebuilt modules know no OFED), on a distribution and kernel \
             that the OFED release is tested with: Ubuntu 22.04 instead of 24.04 helped where nothing \
             else did; or use DMA-BUF. It registered: NCCL up to 2.22 does not look for \
             nvidia_peermem by its new name, update NCCL to 2.23 or later. Distance: use NICs near the GPU, on the same PCIe switch (`nvidia-smi topo -m`, \
             NCCL_IB_HCA), or allow more with NCCL_NET_GDR_LEVEL=SYS (2.4: NCCL_IB_CUDA_SUPPORT, \
             NCCL_NET_GDR_READ). In a VM, ACS and the topology decide (NCCL_TOPO_FILE).",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let is_concerned = |process: &&Process| {
        let is_socket = process.networks.chosen() == Some("Socket");
        process.without_gpu_direct.iter().any(is_hardware) && !is_socket
    };
    let processes: Vec<&Process> = facts.state.logs.processes.iter().filter(is_concerned).collect();
    let all = || {
        processes
            .iter()
            .flat_map(|process| &process.without_gpu_direct)
            .filter(|one| is_hardware(one))
    };
    let Some(first) = all().min_by_key(|one| one.witness) else { return Vec::new() };
    let claim = LoggedClaim::WithoutGpuDirect {
        devices: distinct(all().filter_map(|one| one.device.clone())),
        hosts: distinct(processes.iter().map(|process| process.host.clone())),
        reason: all().find_map(|one| one.reason.clone()),
    };
    let quote = LogObservation::WithoutGpuDirect {
        device: first.device.clone(),
        reason: first.reason.clone(),
    };
    let finding = KIND.finding(Severity::Warning, claim).proven();
    vec![finding.because(Proof::log(quote, first.witness))]
}

/// Devices made by software have no way to a GPU.
fn is_hardware(one: &WithoutGpuDirect) -> bool {
    let is_software = |name: &str| name.starts_with("rxe") || name.starts_with("siw");
    !one.device.as_deref().is_some_and(is_software)
}
