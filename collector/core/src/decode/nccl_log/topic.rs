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
    /// Allocations, registrations and mappings of memory.
    Memory,
    /// Calls of the library (CALL).
    Calls,
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
    ("rank ", Topic::Settings),
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
    ("[node_id", Topic::Topology),
    ("[RINGS]", Topic::Topology),
    ("Paths from", Topic::Topology),
    ("NVLink target", Topic::Topology),
    ("CPUs with mixed", Topic::Topology),
    ("Add ", Topic::Topology),
    ("Loading ", Topic::Topology),
    ("XML ", Topic::Topology),
    ("Cross-clique", Topic::Topology),
    ("Found network interface", Topic::Topology),
    ("Got device", Topic::Topology),
    ("Could not ", Topic::Topology),
    ("P2P ", Topic::Topology),
    ("CollNet ", Topic::GraphSearch),
    ("Collnet ", Topic::GraphSearch),
    ("Connected ", Topic::GraphSearch),
    ("NVLS", Topic::GraphSearch),
    ("NvLS", Topic::GraphSearch),
    ("Peer ", Topic::GraphSearch),
    ("algo ", Topic::TuningTable),
    ("latencyinter", Topic::TuningTable),
    ("Latency/AlgBw", Topic::TuningTable),
    ("Threads per block", Topic::TuningTable),
    ("Using 256 threads", Topic::TuningTable),
    ("Using 512 threads", Topic::TuningTable),
    ("Using NCCL Low-latency", Topic::TuningTable),
    ("Min Comp Cap", Topic::TuningTable),
    ("Max Comp Cap", Topic::TuningTable),
    ("ReduceScatter_", Topic::TuningTable),
    ("[Service thread", Topic::Proxy),
    ("ProxyCall", Topic::Proxy),
    ("Queuing opId", Topic::Proxy),
    ("Received and initiated", Topic::Proxy),
    ("ncclPollProxy", Topic::Proxy),
    ("proxy", Topic::Proxy),
    ("recvConnect", Topic::Proxy),
    ("sendConnect", Topic::Proxy),
    ("recvProxy", Topic::Proxy),
    ("sendProxy", Topic::Proxy),
    ("resp.opId", Topic::Proxy),
    ("UDS", Topic::Proxy),
    ("Imported shareable", Topic::Memory),
    ("CUMEM ", Topic::Memory),
    ("MMAP ", Topic::Memory),
    ("Mem Realloc", Topic::Memory),
    ("MemManager", Topic::Memory),
    ("Memory used", Topic::Memory),
    ("Set Access", Topic::Memory),
    ("Cleanup buffer", Topic::Memory),
    ("register comm", Topic::Memory),
    ("deregister", Topic::Memory),
    ("Skipping ", Topic::Memory),
    ("Inserted window", Topic::Memory),
    ("Binding multicast", Topic::Memory),
    ("Created shared memory", Topic::Memory),
    ("Last reference to shared", Topic::Memory),
    ("unlink shared memory", Topic::Memory),
    ("Symmetric", Topic::Memory),
    ("Failed to open ", Topic::Library),
    ("Failed to read", Topic::Library),
    ("Failed to register memory with DMA-BUF", Topic::Library),
    ("Failed to initialize", Topic::Library),
    ("Failed to multicast", Topic::Library),
    ("CONFIG_", Topic::Library),
    ("Count not open", Topic::Library),
    ("Current version of ROCm", Topic::Library),
    ("DMA_BUF", Topic::Library),
    ("Dmabuf", Topic::Library),
    ("Found ", Topic::Library),
    ("GDR", Topic::Library),
    ("GPU Direct", Topic::Library),
    ("HIP version", Topic::Library),
    ("Hostname", Topic::Library),
    ("Kernel version", Topic::Library),
    ("Librccl", Topic::Library),
    ("NVTX", Topic::Library),
    ("NVTOOLS", Topic::Library),
    ("PROFILER", Topic::Library),
    ("Plugin Path", Topic::Library),
    ("P2P plugin", Topic::Library),
    ("ROCm version", Topic::Library),
    ("ROCr version", Topic::Library),
    ("RCCL ", Topic::Library),
    ("Skipped", Topic::Library),
    ("WSAStartup", Topic::Library),
    ("dlsym", Topic::Library),
    ("dlopen", Topic::Library),
    ("libibverbs", Topic::Library),
    ("rocm_smi", Topic::Library),
    ("initialized internal alternative rsmi", Topic::Library),
    ("ncclOs", Topic::Library),
    ("ncclNvml", Topic::Library),
    ("nvml", Topic::Library),
    ("Profiler", Topic::Library),
    ("No NVML", Topic::Library),
    ("No performance", Topic::Library),
    ("Launch mode", Topic::Settings),
    ("Init CE", Topic::Settings),
    ("init CE", Topic::Settings),
    ("Invalid ", Topic::Settings),
    ("NCCL_", Topic::Settings),
    ("RCCL_", Topic::Settings),
    ("ENV: ", Topic::Settings),
    ("ENV/", Topic::Settings),
    ("PARAM: ", Topic::Settings),
    ("PXN ", Topic::Settings),
    ("Parsed environment", Topic::Settings),
    ("Setting cuda", Topic::Settings),
    ("Stack size", Topic::Settings),
    ("Unknown CTA", Topic::Settings),
    ("User asked", Topic::Settings),
    ("Warning: ENV", Topic::Settings),
    ("minCTAs", Topic::Settings),
    ("maxCTAs", Topic::Settings),
    ("Max P2P Peers", Topic::Settings),
    ("Communicator has", Topic::Settings),
    ("CommRevoke", Topic::Settings),
    ("collnetEnable", Topic::Settings),
    ("splitShare", Topic::Settings),
    ("nvlsCTAs", Topic::Settings),
    ("cgaClusterSize", Topic::Settings),
    ("bootstrapSplit", Topic::Settings),
    ("ncclComm", Topic::Settings),
    ("timings:", Topic::Settings),
    ("Disabling ", Topic::Settings),
    ("Enabl", Topic::Settings),
    ("Clique", Topic::Settings),
    ("Not using ", Topic::Settings),
    ("Not performing", Topic::Settings),
    ("Using MSCCL", Topic::Settings),
    ("Using NCCL_NET_DEVICE", Topic::Settings),
    ("comm ", Topic::Settings),
    ("mscclSetup", Topic::Settings),
    ("mscclGet", Topic::Settings),
    ("scheduleRma", Topic::GpuInitiated),
    ("RMA", Topic::GpuInitiated),
    ("ginForce", Topic::GpuInitiated),
    ("Compute Capability", Topic::GpuInitiated),
    ("NET : ", Topic::NetIb),
    ("Net : ", Topic::NetIb),
    ("NET/", Topic::NetIb),
    ("Call to ", Topic::NetIb),
    ("socket", Topic::NetIb),
    ("ncclSocket", Topic::NetIb),
    ("HINT: ", Topic::NetIb),
];

/// Rows of the tuning table begin with a collective's name.
const COLLECTIVES: &[&str] = &["Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"];

impl Topic {
    /// The topic of a line, if it is known.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let known = STARTS.iter().find(|(start, _)| text.starts_with(start));
        let known = known.map(|(_, topic)| *topic).or_else(|| Self::of_shape(text));
        known.or_else(|| Self::of_place(text))
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
        // `[3] Created a QP: ...` of GPU-initiated I/O.
        let (mark, _) = first.strip_prefix('[').and_then(|rest| rest.split_once(']'))?;
        mark.parse::<u32>().is_ok().then_some(Self::GpuInitiated)
    }

    /// Lines that start with a place in the source or a call: `init.cc:1732 Cuda Host Alloc Size ...`.
    fn of_place(text: &str) -> Option<Self> {
        let first = text.split_whitespace().next()?;
        if first.starts_with("nccl") && first.contains('(') {
            return Some(Self::Calls);
        }
        let (file, line) = first.split_once(':')?;
        let is_source = [".cc", ".h", ".cu", ".c"].iter().any(|end| file.ends_with(end));
        let is_line = line.bytes().all(|byte| byte.is_ascii_digit());
        (is_source && is_line).then_some(Self::Memory)
    }
}
