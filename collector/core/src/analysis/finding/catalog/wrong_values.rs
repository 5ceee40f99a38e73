//! A benchmark found wrong values.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::Found;
use crate::model::benchmark::{Benchmark, Row};

/// Wrong values.
pub const KIND: Kind = Kind {
    id: "wrong_values",
    about: "The result of a collective was wrong: data was damaged in a GPU, in its memory, on NVLink, on PCIe or in \
            the network, or a library is at fault. A training on this hardware learns from noise.",
    threshold: "Column #wrong is above 0 in a row.",
    remedy: "Take the node out. Run the test on each node alone, then on pairs, to find which one: GPU (ECC: \
             `nvidia-smi -q -d ECC`, `dcgmi diag -r 3`), then NIC and PCIe (AER in dmesg).",
    needs: &[Need::Benchmarks],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let finding = |(found, table): (&Found, &Benchmark)| {
        let wrong = table.wrong().filter(|wrong| *wrong > 0)?;
        let is_wrong = |row: &&Row| {
            let both = row.out_of_place.into_iter().chain(row.in_place);
            both.filter_map(|figures| figures.wrong).any(|wrong| wrong > 0)
        };
        let bytes = table.rows.iter().find(is_wrong)?.bytes;
        let operation = table.operation.clone().unwrap_or_else(|| "a collective".to_owned());
        let claim = NodeClaim::WrongValues { operation, wrong, bytes };
        let finding = KIND.finding(Severity::Critical, claim).proven();
        let quote = LogObservation::Quote(found.quote.clone());
        Some(finding.because(Proof::log(quote, found.witness)))
    };
    facts.state.benchmarks().filter_map(finding).collect()
}
