//! The matrix of `nvidia-smi topo -m`: what connects GPUs and NICs.

use super::{Output, Taken, TakesLines};
use crate::model::node::{Distance, Distances};

/// The matrix, with the legend that names its NICs.
#[derive(Clone, Debug, Default)]
pub(super) struct TopoMatrix {
    columns: Vec<String>,
    rows: Vec<(String, Vec<Distance>)>,
    legend: Vec<(String, String)>,
}

/// Most columns read: 16 GPUs and twice as many NICs, and as many again.
const COLUMNS: usize = 128;

impl TopoMatrix {
    /// Its head: `GPU0 GPU1 ... NIC0 ... CPU Affinity NUMA Affinity`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let words = line.split_whitespace().take(COLUMNS);
        let columns: Vec<String> =
            words.take_while(|word| *word != "CPU" && *word != "NUMA").map(str::to_owned).collect();
        let is_head = columns.first().is_some_and(|first| first == "GPU0")
            && columns.get(1).is_none_or(|second| Distance::from_name(second).is_none())
            && (columns.len() > 1 || line.contains("Affinity"));
        is_head.then(|| Self { columns, ..Self::default() })
    }
}

impl TakesLines for TopoMatrix {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return Taken::Yes };
        if let Some(name) = first.strip_suffix(':') {
            if let Some(device) = words.next().filter(|_| name.starts_with("NIC")) {
                self.legend.push((name.to_owned(), device.to_owned()));
                return Taken::Yes;
            }
            return if name == "Legend" { Taken::Yes } else { Taken::End };
        }
        if text == "NIC Legend:" || words.clone().next() == Some("=") {
            return Taken::Yes;
        }
        let row: Option<Vec<Distance>> =
            self.columns.iter().map(|_| Distance::from_name(words.next()?)).collect();
        match row.filter(|_| self.columns.iter().any(|name| name == first)) {
            Some(row) if self.rows.len() < COLUMNS => {
                self.rows.push((first.to_owned(), row));
                Taken::Yes
            }
            _ => Taken::End,
        }
    }

    fn finish(self) -> Option<Output> {
        let is_gpu = |name: &str| name.starts_with("GPU");
        let of_columns = |is_wanted: &dyn Fn(&str) -> bool| {
            let places = self.columns.iter().enumerate();
            places.filter(|(_, name)| is_wanted(name)).map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let (gpu_places, nic_places) = (of_columns(&is_gpu), of_columns(&|name| !is_gpu(name)));
        let gpus: Vec<&(String, Vec<Distance>)> =
            self.rows.iter().filter(|(name, _)| is_gpu(name)).collect();
        let device = |name: &String| {
            let known = self.legend.iter().find(|(own, _)| own == name);
            known.map_or_else(|| name.clone(), |(_, device)| device.clone())
        };
        let to = |places: &[usize]| -> Vec<Vec<Distance>> {
            let of_row = |(_, row): &&(String, Vec<Distance>)| {
                places.iter().filter_map(|place| row.get(*place).copied()).collect()
            };
            gpus.iter().map(of_row).collect()
        };
        let distances = Distances {
            to_nics: to(&nic_places),
            to_gpus: to(&gpu_places),
            nic_numbers: vec![None; nic_places.len()],
            nics: nic_places
                .iter()
                .filter_map(|place| self.columns.get(*place))
                .map(device)
                .collect(),
            gpus: gpus.iter().map(|(name, _)| name.clone()).collect(),
        };
        (!distances.gpus.is_empty()).then_some(Output::Distances(distances))
    }
}
