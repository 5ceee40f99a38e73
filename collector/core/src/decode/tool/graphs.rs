//! NCCL's graphs as XML (`NCCL_GRAPH_DUMP_FILE`, `NCCL_GRAPH_FILE`), as in NCCL 2.5 to 2.30
//! (`graph/search.cc`, `graph/xml.cc`).

use super::xml::XmlText;
use super::{Output, Taken, TakesLines};
use crate::model::graph::{Graph, GraphChannel, Graphs};

/// Most graphs and channels read; NCCL has 7 graphs of at most 64 channels.
const GRAPHS: usize = 64;
const CHANNELS: usize = 256;
const DEVICES: usize = 1024;

/// The text until `</graphs>`.
#[derive(Clone, Debug)]
pub(super) struct GraphDump(XmlText);

impl GraphDump {
    /// `<graphs version="1">`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        XmlText::begin(line, "<graphs", "</graphs>").map(Self)
    }

    /// Whether the graphs stand on one line.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_whole()
    }
}

impl TakesLines for GraphDump {
    fn take(&mut self, line: &str) -> Taken {
        self.0.take(line)
    }

    fn finish(self) -> Option<Output> {
        let document = roxmltree::Document::parse(self.0.text()?).ok()?;
        let graphs = document.root_element().children().filter(|node| node.has_tag_name("graph"));
        let graphs: Vec<Graph> = graphs.take(GRAPHS).filter_map(graph).collect();
        (!graphs.is_empty()).then_some(Output::Graphs(Graphs { graphs }))
    }
}

fn graph(node: roxmltree::Node<'_, '_>) -> Option<Graph> {
    let number = |name: &str| node.attribute(name).and_then(|text| text.parse::<u32>().ok());
    let speed = |name: &str| {
        let speed: f64 = node.attribute(name)?.parse().ok()?;
        (speed.is_finite() && (0.0..1e6).contains(&speed)).then_some((speed * 1000.0) as u64)
    };
    let text = |name: &str| node.attribute(name).map(|text| text.chars().take(8).collect());
    let channels = node.children().filter(|child| child.has_tag_name("channel"));
    Some(Graph {
        id: number("id")?,
        pattern: number("pattern").and_then(pattern),
        type_intra: text("typeintra"),
        type_inter: text("typeinter"),
        speed_intra: speed("speedintra"),
        speed_inter: speed("speedinter"),
        channels: channels.take(CHANNELS).map(channel).collect(),
    })
}

fn channel(node: roxmltree::Node<'_, '_>) -> GraphChannel {
    let of = |name: &str| {
        let own = node.children().filter(|child| child.has_tag_name(name)).take(DEVICES);
        own.filter_map(|child| child.attribute("dev")?.parse().ok()).collect()
    };
    GraphChannel { nets: of("net"), gpus: of("gpu") }
}

/// `NCCL_TOPO_PATTERN_*` (`graph/topo.h`, `include/graph.h`).
const fn pattern(number: u32) -> Option<&'static str> {
    match number {
        1 => Some("balanced tree"),
        2 => Some("split tree"),
        3 => Some("tree"),
        4 => Some("ring"),
        5 => Some("NVLS"),
        6 => Some("CollNet direct"),
        _ => None,
    }
}
