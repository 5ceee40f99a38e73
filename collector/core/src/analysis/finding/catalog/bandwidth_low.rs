//! A benchmark reaches much less than the line rate.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::line_rate;
use crate::analysis::severity::Severity;
use crate::link::tool::Found;
use crate::model::benchmark::Benchmark;

/// Low bandwidth.
pub const KIND: Kind = Kind {
    id: "bandwidth_low",
    about: "The bus bandwidth of a collective stays far below what a node's ports could carry. Bus bandwidth is \
            comparable with the line rate: a ring over several nodes cannot exceed it, and comes close to it with \
            large sizes.",
    threshold: "AllReduce, AllGather or ReduceScatter over several hosts that the table lists, with at least a rank a \
                port; sizes of 64 MiB or more; the rates of all active ports of a node are known (ibstat) and of \
                one link layer; the peak is below 60 % of their sum.",
    remedy: "Which of these: sockets instead of RDMA (NCCL_DEBUG=INFO: NET/Socket), fewer NICs than rails, GPUs far \
             from NICs (`nvidia-smi topo -m`), no GPUDirect, PCIe ACS or the IOMMU between GPU and NIC (`lspci -vvv | grep ACSCtl`), \
             NCCL_IB_SPLIT_DATA_ON_QPS=1, PFC or ECN (`ethtool -S`), MTU 1500. `railscope analyze` \
             takes the log and these outputs together with the table.",
    needs: &[Need::Benchmarks],
    detect,
};

/// Bytes from which a ring is limited by bandwidth, not by latency (nccl-tests, PERFORMANCE.md).
const LARGE: u64 = 64 << 20;
/// Per cent of the line rate below which something is wrong: healthy fabrics reach 85 to 97.
const LEAST_PER_CENT: u64 = 60;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let low = |table: &Benchmark| {
        let peak = table.peak().filter(|row| row.bytes >= LARGE)?;
        let bus_bandwidth = peak.best()?.bus_bandwidth;
        let line_rate_bps = line_rate::bound(&facts.state.nodes, table)?;
        let share = u128::from(bus_bandwidth) * 800 / u128::from(line_rate_bps.max(1));
        (share < u128::from(LEAST_PER_CENT)).then_some(NodeClaim::BandwidthLow {
            operation: table.operation.clone()?,
            nranks: table.nranks,
            bytes: peak.bytes,
            bus_bandwidth,
            line_rate_bps,
        })
    };
    let finding = |(found, table): (&Found, &Benchmark)| {
        let finding = KIND.finding(Severity::Warning, low(table)?);
        let quote = LogObservation::Quote(found.quote.clone());
        Some(finding.because(Proof::log(quote, found.witness)))
    };
    facts.state.benchmarks().filter_map(finding).collect()
}
