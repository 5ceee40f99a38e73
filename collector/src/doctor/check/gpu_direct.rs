//! Can NICs read and write GPU memory?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::fact::gpu::Gpu;
use crate::doctor::outcome::Outcome;
use crate::ingest::capability::{KernelRelease, release};

/// GPUDirect RDMA.
pub(super) const CHECK: Check = Check {
    name: "gpu_direct",
    asks: "Can NICs read and write GPU memory (GPUDirect RDMA)?",
    judge,
};

const SEEN: &str = "/sys/module, /sys/kernel/mm/memory_peers, /proc/driver/nvidia/version";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let software = &facts.software;
    if facts.devices().is_empty() || !facts.gpus.iter().any(|gpu| gpu.driver.is_some()) {
        return without_driver(facts);
    }
    if software.module("nvidia").is_none() {
        let says = "Not checked: GPUDirect RDMA of GPUs that are not NVIDIA's.";
        return vec![
            Outcome::unseen(says)
                .seen(SEEN)
                .fix("NCCL_DEBUG=INFO says `GDRDMA` behind each NIC that uses it"),
        ];
    }
    let is_shared = |gpu: &Gpu| gpu.model.as_deref().is_some_and(|model| model.contains("GB10"));
    if facts.gpus.iter().all(is_shared) {
        let says = "This GPU has no memory of its own (GB10): NICs use the host's, and GPUDirect RDMA does not exist here.";
        return vec![Outcome::note(says).seen("/proc/driver/nvidia/gpus/*/information")];
    }
    let is_loaded =
        software.module("nvidia_peermem").is_some() || software.module("nv_peer_mem").is_some();
    let has_efa = software.module("efa_nv_peermem").is_some();
    let is_registered = software.peer_memory.iter().any(|client| client.starts_with("nv_mem"));
    // DMA-BUF: the open module, and Linux 5.12 for mlx5; drivers of other NICs learnt it later.
    let is_open = software.is_open_nvidia();
    let is_new = facts
        .place
        .kernel
        .as_deref()
        .and_then(release)
        .is_some_and(|release| release >= KernelRelease(5, 12));
    let is_mlx5 =
        facts.devices().iter().all(|device| device.driver.as_deref() == Some("mlx5_core"));
    let has_dma_buf = is_open == Some(true) && is_new && is_mlx5;
    let outcome = match (is_loaded, is_registered, has_dma_buf) {
        _ if has_efa => Outcome::right("Yes: peer memory of EFA (efa_nv_peermem)."),
        (true, true, _) => Outcome::right("Yes: peer memory (nvidia_peermem)."),
        (_, _, true) => Outcome::right("Yes: DMA-BUF (open NVIDIA modules)."),
        (false, _, false) if is_open == Some(true) && !is_mlx5 => {
            Outcome::unseen("Not checked: whether the NIC's driver takes DMA-BUFs.")
                .fix("NCCL_DEBUG=INFO says `GDRDMA` behind each NIC that uses it")
        }
        (true, false, false) => Outcome::warning(
            "nvidia_peermem is loaded, but the kernel's RDMA core has no peer memory: it is the distribution's RDMA stack, or the module was \
             built before OFED. Data goes through host memory.",
        )
        .fix("the open NVIDIA modules (DMA-BUF; NCCL_DMABUF_ENABLE=1), or MLNX_OFED/DOCA-OFED and then the NVIDIA driver again"),
        (false, _, false) => Outcome::warning(
            "No: nvidia_peermem is not loaded, and the NVIDIA modules are not the open ones on Linux 5.12 or later. Data goes through host \
             memory at a fraction of the rate.",
        )
        .fix("`modprobe nvidia_peermem`, or the open NVIDIA modules"),
    };
    vec![outcome.seen(SEEN)]
}

fn without_driver(facts: &Facts) -> Vec<Outcome> {
    let idle = facts
        .gpus
        .iter()
        .filter(|gpu| gpu.driver.is_none() || gpu.driver.as_deref() == Some("nouveau"))
        .count();
    if idle == 0 {
        return Vec::new();
    }
    let says = format!("{} without the maker's driver.", super::count(idle, "GPU"));
    // A container sees the functions, and drivers of the host.
    vec![
        Outcome::warning(says)
            .seen(SEEN)
            .fix("install the GPU's driver; `dmesg` says why it refused"),
    ]
}
