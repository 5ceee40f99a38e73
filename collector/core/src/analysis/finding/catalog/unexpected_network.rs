//! The job uses another interface or HCA than it should.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::network::{NetworkClaim, NetworkPart, OddNetwork};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::Among;
use crate::analysis::finding::observation::{FrameObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::CommunicatorId;
use crate::model::witness::Witness;

/// Unexpected bootstrap interface or HCA.
pub const KIND: Kind = Kind {
    id: "unexpected_network",
    about: "NCCL's bootstrap or its data does not use the expected interface or RDMA device: \
            the management network carries the job, or a NIC far from the GPU does.",
    threshold: "[expect] bootstrap_interface, bootstrap_cidr or hca does not match NCCL's logs or \
                the captured addresses and device names.",
    remedy: "Set NCCL_SOCKET_IFNAME (a prefix, or `=eth0` for an exact name) and NCCL_IB_HCA \
             (`=mlx5_0:1,mlx5_1:1`); in containers, check which devices are mounted.",
    needs: &[Need::Expectations],
    detect,
};

/// Networks that were not expected, and where they are used.
type Odd = BTreeMap<(OddNetwork, Vec<String>), Vec<OddUse>>;

struct OddUse {
    communicator: Option<CommunicatorId>,
    rank: Option<u32>,
    host: String,
    witness: Option<Witness>,
}

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut odd = Odd::new();
    by_logs(facts, &mut odd);
    by_traffic(facts, &mut odd);
    odd.into_iter()
        .filter_map(|((odd, expected), places)| finding(odd, expected, &places))
        .collect()
}

fn by_logs(facts: &Facts<'_>, odd: &mut Odd) {
    let expect = &facts.settings.expect;
    for (at, process) in facts.state.logs.processes.iter().enumerate() {
        let place = || OddUse {
            communicator: facts.state.memberships.get(&(at, 0)).copied(),
            rank: process.memberships.first().map(|member| member.rank),
            host: process.host.clone(),
            witness: Some(process.first),
        };
        if let Some((name, address)) = &process.bootstrap {
            if let Some(wanted) =
                expect.bootstrap_interface.as_ref().filter(|wanted| *wanted != name)
            {
                let what = NetworkPart::BootstrapInterface;
                let interface = OddNetwork { what, found: name.clone() };
                odd.entry((interface, vec![wanted.clone()])).or_default().push(place());
            }
            let outside = address.zip(expect.bootstrap_cidr);
            if let Some((address, wanted)) =
                outside.filter(|(address, net)| !net.contains(*address))
            {
                let what = NetworkPart::BootstrapAddress;
                let address = OddNetwork { what, found: address.to_string() };
                odd.entry((address, vec![wanted.to_string()])).or_default().push(place());
            }
        }
        let Some(wanted) = &expect.hca else { continue };
        for hca in process.hcas.iter().filter(|hca| !wanted.contains(&hca.device)) {
            let hca = OddNetwork { what: NetworkPart::Hca, found: hca.device.clone() };
            odd.entry((hca, wanted.clone())).or_default().push(place());
        }
    }
}

fn by_traffic(facts: &Facts<'_>, odd: &mut Odd) {
    let expect = &facts.settings.expect;
    let communicators = facts.job().into_iter().flat_map(|job| &job.communicators);
    for (id, communicator) in (0..).map(CommunicatorId).zip(communicators) {
        for rank in &communicator.ranks {
            let name = |ip: std::net::IpAddr| ip.to_string();
            let host = rank.host.clone().or_else(|| rank.address.map(name)).unwrap_or_default();
            // The log of this host already showed it.
            let is_reported = odd.values().flatten().any(|place| place.host == host);
            if is_reported {
                continue;
            }
            let place = || OddUse {
                communicator: Some(id),
                rank: Some(rank.rank),
                host: host.clone(),
                witness: rank.evidence.iter().find_map(|evidence| evidence.witness),
            };
            let outside = rank.address.zip(expect.bootstrap_cidr);
            if let Some((address, wanted)) =
                outside.filter(|(address, net)| !net.contains(*address))
            {
                let what = NetworkPart::BootstrapAddress;
                let address = OddNetwork { what, found: address.to_string() };
                odd.entry((address, vec![wanted.to_string()])).or_default().push(place());
            }
            let Some(wanted) = &expect.hca else { continue };
            let devices = rank.nics.iter().filter_map(|nic| nic.device.as_ref());
            for device in devices.filter(|device| !wanted.contains(device)) {
                let hca = OddNetwork { what: NetworkPart::Hca, found: device.clone() };
                odd.entry((hca, wanted.clone())).or_default().push(place());
            }
        }
    }
}

fn finding(odd: OddNetwork, expected: Vec<String>, places: &[OddUse]) -> Option<Finding> {
    let first = places.first()?;
    let hosts = Among::all(places, |place| place.host.clone());
    let cause = if odd.what == NetworkPart::Hca { "hca" } else { "bootstrap" };
    let is_only = places.len() == 1;
    let claim = NetworkClaim::Unexpected { odd: odd.clone(), hosts, expected };
    let finding = KIND
        .finding(Severity::Warning, claim)
        .caused_by(cause)
        .about(Subject {
            communicator: first.communicator,
            rank: first.rank.filter(|_| is_only),
            ..Subject::default()
        })
        .proven();
    let host = first.host.clone();
    Some(finding.because(match first.witness {
        Some(witness @ Witness::Line { .. }) => {
            Proof::log(LogObservation::OddNetwork(odd, host), witness)
        }
        witness => Proof::frames(FrameObservation::OddNetwork(odd, host), witness),
    }))
}
