//! Single settings whose effect is seldom what was meant.

use super::quoted;
use crate::doctor::fact::Facts;
use crate::doctor::fact::environment::Variable;
use crate::doctor::outcome::{Outcome, Status};

/// What to know of a setting.
struct Advice {
    name: &'static str,
    /// Whether it applies to this value on this node.
    applies: fn(&Variable, &Facts) -> bool,
    status: Status,
    says: &'static str,
    fix: Option<&'static str>,
}

pub(super) fn judge(facts: &Facts, all: &[&Variable]) -> Vec<Outcome> {
    let of_one = |set: &&Variable| {
        let applying =
            ALL.iter().filter(|advice| advice.name == set.name && (advice.applies)(set, facts));
        let outcome = |advice: &Advice| Outcome {
            check: String::new(),
            status: advice.status,
            says: format!(
                "{}={}: {}",
                advice.name,
                quoted(&set.value).trim_matches('"'),
                advice.says
            ),
            seen: set.source.clone(),
            fix: advice.fix.map(str::to_owned),
        };
        applying.map(outcome).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_one).collect()
}

fn is_on(set: &Variable) -> bool {
    set.number() != 0
}

fn is_off(set: &Variable) -> bool {
    is_number(set, |number| number == 0)
}

/// Whether the value is a number, and one that `is_meant`.
fn is_number(set: &Variable, is_meant: impl Fn(i64) -> bool) -> bool {
    set.is_number() && is_meant(set.number())
}

/// Whether NCCL's own RDMA transport would be used: not with EFA, nor with another plugin.
fn uses_own_rdma(facts: &Facts) -> bool {
    let has_other = ["NCCL_NET", "NCCL_NET_PLUGIN"]
        .into_iter()
        .filter_map(|name| super::effective(facts, name));
    let is_own = |value: &str| is_any_of(value, &["IB", "none", "Socket"]);
    let has_other = has_other.into_iter().any(|set| !is_own(&set.value));
    !has_other && facts.active_ports().any(|(device, _)| !device.is_efa())
}

fn is_any_of(value: &str, words: &[&str]) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn has_rdma(facts: &Facts) -> bool {
    facts.active_ports().next().is_some()
}

/// In the order of NCCL's documentation.
const ALL: &[Advice] = &[
    Advice {
        name: "NCCL_IB_DISABLE",
        applies: |set, facts| is_on(set) && uses_own_rdma(facts),
        status: Status::Critical,
        says: "RDMA is off, although this node has active RDMA ports: all data goes over TCP sockets.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_NET",
        applies: |set, facts| set.value.eq_ignore_ascii_case("socket") && has_rdma(facts),
        status: Status::Critical,
        says: "data goes over TCP sockets, although this node has active RDMA ports.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_P2P_DISABLE",
        applies: |set, _| is_on(set),
        status: Status::Warning,
        says: "GPUs of one node do not use NVLink or PCIe directly, but shared memory of the host.",
        fix: Some("unset it, unless P2P hangs here (ACS, virtual machines)"),
    },
    Advice {
        name: "NCCL_SHM_DISABLE",
        applies: |set, _| is_on(set),
        status: Status::Warning,
        says: "ranks of one node without P2P speak over the network.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_P2P_LEVEL",
        applies: |set, _| is_number(set, |level| level >= 4),
        status: Status::Note,
        says: "a number is the old spelling; 4 and more mean SYS, across CPU sockets, not NVLink.",
        fix: Some("a word: NVL, PIX, PXB, PHB or SYS"),
    },
    Advice {
        name: "NCCL_NET_GDR_LEVEL",
        applies: |set, _| is_off(set) || set.value.eq_ignore_ascii_case("LOC"),
        status: Status::Warning,
        says: "GPUDirect RDMA is off: data goes through host memory.",
        fix: Some("unset it, or PXB, PHB or SYS"),
    },
    Advice {
        name: "NCCL_DMABUF_ENABLE",
        applies: |set, facts| {
            is_off(set)
                && facts.software.module("nvidia_peermem").is_none()
                && facts.software.module("nvidia").is_some()
        },
        status: Status::Warning,
        says: "DMA-BUF is off and nvidia_peermem is not loaded: no GPUDirect RDMA.",
        fix: Some("unset it, or `modprobe nvidia_peermem`"),
    },
    Advice {
        name: "NCCL_IB_PCI_RELAXED_ORDERING",
        applies: |set, facts| is_off(set) && facts.place.machine.is_some(),
        status: Status::Note,
        says: "without relaxed ordering, NICs of virtual machines are far below their rate.",
        fix: Some("unset it: 2 uses it where the NIC can"),
    },
    Advice {
        name: "NCCL_PROTO",
        applies: |set, _| {
            set.value.to_ascii_uppercase().contains("LL128") && !set.value.starts_with('^')
        },
        status: Status::Warning,
        says: "LL128 where NCCL does not choose it itself can corrupt data.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_PROTO",
        applies: |set, _| is_any_of(&set.value, &["simple"]),
        status: Status::Note,
        says: "small messages lose the fast protocols; leave it to NCCL but to compare.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_ALGO",
        applies: |set, _| !set.value.contains(':') && !set.value.starts_with('^'),
        status: Status::Note,
        says: "one algorithm for all sizes and collectives; leave it to NCCL but to compare.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_CHUNK_SIZE",
        applies: |set, _| is_number(set, |bytes| bytes >= 1 << 20),
        status: Status::Warning,
        says: "undocumented; 1 MiB and more gave wrong results and GPU faults.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_IB_TIMEOUT",
        applies: |set, _| is_number(set, |exponent| !(1..=31).contains(&exponent)),
        status: Status::Warning,
        says: "an exponent from 1 to 31 (4.096 us x 2^value); 0 waits for ever.",
        fix: Some("unset it: 20 is the default"),
    },
    Advice {
        name: "NCCL_IB_TIMEOUT",
        applies: |set, _| is_number(set, |exponent| (1..16).contains(&exponent)),
        status: Status::Note,
        says: "a link that flaps for a second breaks the job.",
        fix: Some("unset it: 20 is the default, 4.3 s an attempt"),
    },
    Advice {
        name: "NCCL_IB_TIMEOUT",
        applies: |set, _| is_number(set, |exponent| (23..=31).contains(&exponent)),
        status: Status::Note,
        says: "a dead path is noticed after minutes to hours.",
        fix: Some("22 at most: 17 s an attempt"),
    },
    Advice {
        name: "NCCL_IB_RETRY_CNT",
        applies: |set, _| is_number(set, |retries| !(0..=7).contains(&retries)),
        status: Status::Warning,
        says: "the field has three bits: 0 to 7.",
        fix: Some("unset it: 7 is the default"),
    },
    Advice {
        name: "NCCL_IB_TC",
        applies: |set, _| is_number(set, |class| (0..=255).contains(&class) && class & 3 == 3),
        status: Status::Warning,
        says: "its last two bits say that the packet has met congestion (CE) before it leaves.",
        fix: Some("4 x DSCP + 2: 106 is DSCP 26, ECN-capable"),
    },
    Advice {
        name: "NCCL_IB_TC",
        applies: |set, _| is_number(set, |class| !(0..=255).contains(&class)),
        status: Status::Warning,
        says: "a traffic class has eight bits: 0 to 255.",
        fix: Some("4 x DSCP + 2: 106 is DSCP 26, ECN-capable"),
    },
    Advice {
        name: "NCCL_DEBUG",
        applies: |set, _| {
            !is_any_of(&set.value, &["VERSION", "WARN", "INFO", "ABORT", "TRACE", "NONE"])
        },
        status: Status::Warning,
        says: "no such level.",
        fix: Some("NCCL_DEBUG=INFO"),
    },
    Advice {
        name: "NCCL_DEBUG",
        applies: |set, _| set.value.eq_ignore_ascii_case("TRACE"),
        status: Status::Note,
        says: "a line for each call; only builds with TRACE=1 write them.",
        fix: Some("NCCL_DEBUG=INFO"),
    },
    Advice {
        name: "NCCL_CUMEM_ENABLE",
        applies: |set, _| is_off(set),
        status: Status::Note,
        says: "without it, NVLink SHARP (NVLS) and NVLink between nodes are off, too.",
        fix: Some("unset it"),
    },
    Advice {
        name: "NCCL_ASYNC_ERROR_HANDLING",
        applies: |_, _| true,
        status: Status::Note,
        says: "PyTorch reads TORCH_NCCL_ASYNC_ERROR_HANDLING since 2.2, and warns of this name.",
        fix: Some("TORCH_NCCL_ASYNC_ERROR_HANDLING"),
    },
    Advice {
        name: "NCCL_BLOCKING_WAIT",
        applies: |_, _| true,
        status: Status::Note,
        says: "PyTorch reads TORCH_NCCL_BLOCKING_WAIT since 2.2, and warns of this name.",
        fix: Some("TORCH_NCCL_BLOCKING_WAIT"),
    },
    Advice {
        name: "CUDA_LAUNCH_BLOCKING",
        applies: |set, _| is_on(set),
        status: Status::Warning,
        says: "each kernel is waited for: nothing overlaps, and collectives of several communicators can deadlock.",
        fix: Some("unset it"),
    },
    Advice {
        name: "FI_EFA_USE_DEVICE_RDMA",
        applies: |set, _| is_off(set),
        status: Status::Warning,
        says: "GPUDirect RDMA over EFA is off.",
        fix: Some("unset it: libfabric 1.18 and later use RDMA where the device can"),
    },
    Advice {
        name: "UCX_TLS",
        applies: |set, facts| {
            has_rdma(facts) && is_any_of(&set.value, &["tcp", "tcp,self", "self,tcp"])
        },
        status: Status::Note,
        says: "UCX uses TCP, although this node has active RDMA ports.",
        fix: Some("unset it, or rc,sm,self"),
    },
    Advice {
        name: "NCCL_TOPO_FILE",
        applies: |set, facts| {
            facts.place.is_running_system && !std::path::Path::new(&set.value).exists()
        },
        status: Status::Warning,
        says: "there is no such file.",
        fix: Some("its path inside the job's container, or unset it"),
    },
    Advice {
        name: "NCCL_GRAPH_FILE",
        applies: |set, facts| {
            facts.place.is_running_system && !std::path::Path::new(&set.value).exists()
        },
        status: Status::Warning,
        says: "there is no such file.",
        fix: Some("its path inside the job's container, or unset it"),
    },
];
