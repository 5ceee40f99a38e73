//! Lines that are known but not used, by topic, so that unknown lines stand out.

/// Topic of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// The machine as NCCL sees it, and its paths.
    Topology,
    /// The search for rings and trees.
    GraphSearch,
    /// NCCL's model of how fast each algorithm is.
    TuningTable,
    /// Threads and connections of the proxy.
    Proxy,
    /// CUDA, NVML and other libraries.
    Library,
    /// Settings of a communicator.
    Settings,
    /// Details of NET/IB: extended connection establishment, resiliency.
    NetIb,
    /// Network I/O by the GPU (2.28 and later).
    GpuInitiated,
    /// NCCL's service that watches ranks (2.24 and later).
    Ras,
}

/// How lines begin.
// tidy: table
const STARTS: &[(&str, Topic)] = &[
    ("AMD", Topic::Topology),
    ("==", Topic::Topology),
    ("+ ", Topic::Topology),
    ("CPU/", Topic::Topology),
    ("GPU/", Topic::Topology),
    ("NET/0", Topic::Topology),
    ("NIC/", Topic::Topology),
    ("NVS/", Topic::Topology),
    ("PCI/", Topic::Topology),
    ("DEV/", Topic::Topology),
    ("TOPO/NET", Topic::Topology),
    ("Topology detection", Topic::Topology),
    ("Could not find real path", Topic::Topology),
    ("Could not get speed", Topic::Topology),
    ("KV Convert", Topic::Topology),
    ("Loading topology file", Topic::Topology),
    ("Loading unnamed topology", Topic::Topology),
    ("ncclTopo", Topic::Topology),
    ("Retrieving state", Topic::Topology),
    ("Initialized state", Topic::Topology),
    ("Attribute ", Topic::Topology),
    ("Setting affinity", Topic::Topology),
    ("P2P is disabled", Topic::Topology),
    ("Check P2P Type", Topic::Topology),
    ("Rank ", Topic::Topology),
    ("Local Net device", Topic::Topology),
    ("Local CollNet device", Topic::Topology),
    ("MNNVL", Topic::Topology),
    ("NVLS ", Topic::Topology),
    ("CUDA Dev ", Topic::Topology),
    ("Pattern ", Topic::GraphSearch),
    ("Search ", Topic::GraphSearch),
    ("NVLS Trees", Topic::GraphSearch),
    ("Algorithm ", Topic::TuningTable),
    ("Protocol ", Topic::TuningTable),
    ("Max NThreads", Topic::TuningTable),
    ("threadThresholds", Topic::TuningTable),
    ("Enabled NCCL Func", Topic::TuningTable),
    ("[Proxy ", Topic::Proxy),
    ("New proxy ", Topic::Proxy),
    ("Connected to proxy", Topic::Proxy),
    ("Connection to proxy", Topic::Proxy),
    ("proxy listening", Topic::Proxy),
    ("UDS: ", Topic::Proxy),
    ("Allocated shareable buffer", Topic::Proxy),
    ("Allocated ", Topic::Library),
    ("cudaDriverVersion", Topic::Library),
    ("NCCL git version", Topic::Library),
    ("ncclOsDl", Topic::Library),
    ("Loaded NVML", Topic::Library),
    ("cuMem", Topic::Library),
    ("dlvsym", Topic::Library),
    ("DMA-BUF", Topic::Library),
    ("GDRCOPY", Topic::Library),
    ("Successfully loaded external", Topic::Library),
    ("Using non-device net plugin", Topic::Library),
    ("Using internal ", Topic::Library),
    ("P2P Chunksize", Topic::Settings),
    ("Tuning P2P", Topic::Settings),
    ("ncclP2pSchedule", Topic::Settings),
    ("CC Off", Topic::Settings),
    ("CC On", Topic::Settings),
    ("Comm config", Topic::Settings),
    ("Symmetric memory", Topic::Settings),
    ("Socket handshake magic", Topic::Settings),
    ("Using network plugin", Topic::Settings),
    ("MSCCL", Topic::Settings),
    ("Call to ibv_query_ece", Topic::NetIb),
    ("NET/IB: IbDev", Topic::NetIb),
    ("NET/IB: ncclIbResiliency", Topic::NetIb),
    ("NET/IB: ncclIbRecvCommInit", Topic::NetIb),
    ("NET/Socket: Using", Topic::NetIb),
    ("Unable to use GIN", Topic::GpuInitiated),
    ("GIN", Topic::GpuInitiated),
    ("RAS ", Topic::Ras),
];

/// Rows of the tuning table begin with a collective's name.
const COLLECTIVES: &[&str] = &["Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"];

impl Topic {
    /// The topic of a line, if it is known.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let known = STARTS.iter().find(|(start, _)| text.starts_with(start));
        known.map(|(_, topic)| *topic).or_else(|| Self::of_shape(text))
    }

    /// Lines that start with a varying number or name.
    fn of_shape(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once(' ')?;
        let is_row = COLLECTIVES.contains(&first) && rest.trim_start().starts_with('|');
        if is_row {
            return Some(Self::TuningTable);
        }
        // ` 0 : NET/0 GPU/0 NET/0`: a channel that the search found.
        let is_number = first.parse::<u32>().is_ok();
        if is_number && rest.starts_with(": ") {
            return Some(Self::GraphSearch);
        }
        // `NET/1-2 :GPU/...` of a network with another number.
        (first.starts_with("NET/") && rest.starts_with(':') && rest.contains("/PHB)"))
            .then_some(Self::Topology)
    }
}
