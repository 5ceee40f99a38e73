//! Outputs of other tools, as people paste them: one tool a file.
//!
//! Stateless but for one output: a [`ToolReader`] takes the lines of one output. Which outputs a text
//! has is `link::tool`'s matter.

mod braces;
mod counters;
mod devices;
mod fi_info;
mod gids;
mod graphs;
mod inspector;
mod nccl_tests;
mod qos;
mod queue_pairs;
mod switch;
mod topo_matrix;
mod topology;
mod xml;

use self::counters::{Ethtool, RdmaStatistic, Sysfs};
use self::devices::Blocks;
use self::fi_info::FiInfo;
use self::gids::ShowGids;
use self::graphs::GraphDump;
use self::inspector::Inspector;
use self::nccl_tests::NcclTests;
use self::qos::MlnxQos;
use self::queue_pairs::QueuePairList;
use self::switch::SwitchReader;
use self::topo_matrix::TopoMatrix;
use self::topology::Topology;
use crate::model::benchmark::Benchmark;
use crate::model::graph::Graphs;
use crate::model::inspector::Record;
use crate::model::node::{Distances, Gid, Qos, RdmaPort, Totals};
use crate::model::provider::Providers;
use crate::model::queue_pair::ListedQueuePair;
use crate::model::switch::SwitchTable;

/// What one tool printed.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Counters since boot: `ethtool -S`, `rdma statistic`, sysfs.
    Totals(Totals),
    /// GIDs: `show_gids`.
    Gids(Vec<Gid>),
    /// Ports, with the GIDs that are listed below them: `ibdev2netdev`, `ibv_devinfo`, `ibstat`, `ibstatus`,
    /// `rdma link`.
    Ports(Vec<RdmaPort>, Vec<Gid>),
    /// Queue pairs: `rdma resource show qp`.
    QueuePairs(Vec<ListedQueuePair>),
    /// Quality of service: `mlnx_qos`, `dcb`.
    Qos(Qos),
    /// What connects GPUs and NICs: `nvidia-smi topo -m`, NCCL's topology.
    Distances(Distances),
    /// Providers of libfabric: `fi_info`.
    Providers(Providers),
    /// NCCL's graphs.
    Graphs(Graphs),
    /// A table of a switch.
    Switch(SwitchTable),
    /// A table of nccl-tests.
    Benchmark(Benchmark),
    /// A record of NCCL Inspector.
    Inspector(Record),
}

/// Whether a line belongs to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It does.
    Yes,
    /// It does, and is the last one.
    Last,
    /// Another program wrote it in between.
    Foreign,
    /// It does not: the output ended before it.
    End,
}

/// Takes the lines of one output, after its first.
trait TakesLines {
    /// The next line.
    fn take(&mut self, line: &str) -> Taken;
    /// What was read; `None` if that is nothing.
    fn finish(self) -> Option<Output>;
}

/// The output that is being read.
#[derive(Clone, Debug)]
pub struct ToolReader(Open);

#[derive(Clone, Debug)]
enum Open {
    /// An output of one line.
    Whole(Output),
    Ethtool(Ethtool),
    RdmaStatistic(RdmaStatistic),
    Sysfs(Sysfs),
    Gids(ShowGids),
    Blocks(Blocks),
    QueuePairs(QueuePairList),
    Qos(MlnxQos),
    Matrix(TopoMatrix),
    Topology(Topology),
    Graphs(GraphDump),
    Providers(FiInfo),
    Switch(SwitchReader),
    NcclTests(NcclTests),
    Inspector(Inspector),
}

impl ToolReader {
    /// Reads the first line of an output; `None` if it is none. `command` is the command line above
    /// it.
    #[must_use]
    pub fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        let device = |program, options: &[&str]| device_of(command, program, options);
        let of_dcb = device("dcb", &["dev"]);
        let of_ethtool = device("ethtool", &["-S", "--statistics"]);
        let is_asked = of_ethtool.is_some();
        let one_line = || {
            let port = devices::ibdev2netdev(line).or_else(|| devices::rdma_link(line));
            let qos = || {
                qos::dcb_pfc(line, of_dcb)
                    .or_else(|| qos::dcb_dscp(line, of_dcb))
                    .or_else(|| qos::dcb_trust(line, of_dcb))
            };
            let port = port.map(|port| Output::Ports(vec![port], Vec::new()));
            port.or_else(|| qos().map(Output::Qos)).map(Open::Whole)
        };
        let open = one_line()
            .or_else(|| RdmaStatistic::begin(line).map(Open::RdmaStatistic))
            .or_else(|| QueuePairList::begin(line).map(Open::QueuePairs))
            .or_else(|| Sysfs::begin(line).map(Open::Sysfs))
            .or_else(|| ShowGids::begin(line).map(Open::Gids))
            .or_else(|| Blocks::begin(line).map(Open::Blocks))
            .or_else(|| {
                MlnxQos::begin(line, device("mlnx_qos", &["-i", "--interface"])).map(Open::Qos)
            })
            .or_else(|| TopoMatrix::begin(line).map(Open::Matrix))
            .or_else(|| Topology::begin(line).map(Open::Topology))
            .or_else(|| GraphDump::begin(line).map(Open::Graphs))
            .or_else(|| FiInfo::begin(line, command).map(Open::Providers))
            .or_else(|| SwitchReader::begin(line, command).map(Open::Switch))
            .or_else(|| NcclTests::begin(line, command).map(Open::NcclTests))
            .or_else(|| Inspector::begin(line).map(Open::Inspector))
            .or_else(|| Ethtool::begin(line, of_ethtool, is_asked).map(Open::Ethtool));
        open.map(Self)
    }

    /// Whether nothing can follow the first line.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match &self.0 {
            Open::Whole(_) => true,
            Open::Inspector(open) => open.is_whole(),
            Open::Topology(open) => open.is_whole(),
            Open::Graphs(open) => open.is_whole(),
            Open::Providers(open) => open.is_whole(),
            Open::Switch(open) => open.is_whole(),
            _ => false,
        }
    }

    /// The next line.
    pub fn take(&mut self, line: &str) -> Taken {
        match &mut self.0 {
            Open::Whole(_) => Taken::End,
            Open::Ethtool(open) => open.take(line),
            Open::RdmaStatistic(open) => open.take(line),
            Open::Sysfs(open) => open.take(line),
            Open::Gids(open) => open.take(line),
            Open::Blocks(open) => open.take(line),
            Open::QueuePairs(open) => open.take(line),
            Open::Qos(open) => open.take(line),
            Open::Matrix(open) => open.take(line),
            Open::Topology(open) => open.take(line),
            Open::Graphs(open) => open.take(line),
            Open::Providers(open) => open.take(line),
            Open::Switch(open) => open.take(line),
            Open::NcclTests(open) => open.take(line),
            Open::Inspector(open) => open.take(line),
        }
    }

    /// What was read; `None` if that is nothing.
    #[must_use]
    pub fn finish(self) -> Option<Output> {
        match self.0 {
            Open::Whole(output) => Some(output),
            Open::Ethtool(open) => open.finish(),
            Open::RdmaStatistic(open) => open.finish(),
            Open::Sysfs(open) => open.finish(),
            Open::Gids(open) => open.finish(),
            Open::Blocks(open) => open.finish(),
            Open::QueuePairs(open) => open.finish(),
            Open::Qos(open) => open.finish(),
            Open::Matrix(open) => open.finish(),
            Open::Topology(open) => open.finish(),
            Open::Graphs(open) => open.finish(),
            Open::Providers(open) => open.finish(),
            Open::Switch(open) => open.finish(),
            Open::NcclTests(open) => open.finish(),
            Open::Inspector(open) => open.finish(),
        }
    }
}

/// The device that a command line names behind one of `options`, if it runs `program`:
/// `ethtool -S eth0`, `mlnx_qos -i ens1f0np0`, `dcb pfc show dev eth0`.
fn device_of<'a>(command: Option<&'a str>, program: &str, options: &[&str]) -> Option<&'a str> {
    let command = command?.split(['|', ';', '&', '>']).next()?;
    let mut words = command.split_whitespace();
    words.find(|word| word.rsplit('/').next() == Some(program))?;
    words.find(|word| options.contains(word))?;
    words.next().filter(|word| !word.starts_with(['-', '$', '"']))
}

/// The value of `key: value`, without the space around both.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.trim().strip_prefix(key)?.trim_start().strip_prefix(':').map(str::trim)
}

/// The number with which a text begins.
fn number_in<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}
