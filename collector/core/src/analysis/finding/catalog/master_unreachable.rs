//! Nobody answers where the job's master should listen.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::analysis::finding::claim::setup::SetupClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::Among;
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::hang::patience_ns;
use crate::analysis::severity::Severity;
use crate::flow::tcp_stream::attempt::Attempt;
use crate::link::control::facts::StreamKind;
use crate::model::witness::Witness;

/// torchrun's default `--master_port`.
const TORCH_PORT: u16 = 29_500;

/// Master unreachable.
pub const KIND: Kind = Kind {
    id: "master_unreachable",
    about: "A rank cannot connect to the master (torchrun's store or NCCL's root): no answer, or \
            refused. The job does not start, or starts without that rank and hangs.",
    threshold: "SYNs to the master that never led to a connection: three without any answer (TCP \
                sends the third after 3 s), or an RST and no success in the next second, live 5 s \
                (findings.hang_after_s): ranks that start before the master are refused and try \
                again. Master: port 29500, a port that speaks TCPStore or NCCL's bootstrap, or, \
                while no data is seen, a port that several hosts failed to reach.",
    remedy: "No answer: check firewall, security group, subnet and VLAN; run `nc -vz <address> \
             <port>` on that host. Refused: nothing listens there: MASTER_ADDR or MASTER_PORT is \
             wrong, or the master did not start or died; for NCCL, NCCL_SOCKET_IFNAME is wrong.",
    needs: &[Need::ControlPlane],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut vain: BTreeMap<SocketAddr, Vec<(IpAddr, &Attempt)>> = BTreeMap::new();
    for (client, server, attempt) in facts.state.attempts.iter() {
        let is_vain = match attempt.refused {
            0 => attempt.asked >= 3,
            _ => is_lasting(facts, attempt),
        };
        if attempt.answered == 0 && is_vain {
            vain.entry(server).or_default().push((client, attempt));
        }
    }
    let masters = of_kinds(facts, &[StreamKind::TcpStore, StreamKind::Bootstrap]);
    let others = of_kinds(facts, &[StreamKind::Ras]);
    // While data is exchanged, other services of a job are looked for: processes of RAS look for one that died.
    let is_setting_up = !facts.flows.iter().any(|flow| flow.has_requests);
    let is_master = |server: &SocketAddr, clients: usize| {
        server.port() == TORCH_PORT
            || masters.contains(server)
            || (clients > 1 && is_setting_up && !others.contains(server))
    };
    vain.into_iter()
        .filter(|(server, clients)| is_master(server, clients.len()))
        .filter_map(|(server, clients)| finding(facts, server, &clients))
        .collect()
}

/// Whether the tap watched for long enough after the first SYN to see a later one succeed.
fn is_lasting(facts: &Facts<'_>, attempt: &Attempt) -> bool {
    let Witness::Frame { tap, .. } = attempt.witness else { return false };
    let span = facts.state.tracker.tap(tap).and_then(|tap| tap.span);
    let watched_ns = span.map_or(0, |span| span.last.nanos_since(attempt.span.first));
    watched_ns >= patience_ns(facts.state, facts.settings)
}

/// Where streams of these kinds are known to lead; a bootstrap also to its root.
fn of_kinds(facts: &Facts<'_>, kinds: &[StreamKind]) -> BTreeSet<SocketAddr> {
    let streams = facts.state.streams.iter().filter(|stream| kinds.contains(&stream.kind));
    let communicators = facts.job().into_iter().flat_map(|job| &job.communicators);
    let roots = communicators.filter_map(|communicator| communicator.root);
    let roots = roots.filter(|_| kinds.contains(&StreamKind::Bootstrap));
    streams.map(|stream| stream.connection.server).chain(roots).collect()
}

fn finding(
    facts: &Facts<'_>,
    server: SocketAddr,
    clients: &[(IpAddr, &Attempt)],
) -> Option<Finding> {
    let (_, worst) = clients.iter().max_by_key(|(_, attempt)| attempt.asked)?;
    let is_refused = clients.iter().any(|(_, attempt)| attempt.refused > 0);
    let claim = SetupClaim::MasterUnreachable {
        server,
        clients: Among::all(clients, |(client, _)| *client),
        syns: clients.iter().map(|(_, attempt)| attempt.asked).sum(),
        is_refused,
    };
    let (witness, span) = match worst.witness {
        Witness::Frame { tap, number, time } => {
            (facts.frame(tap, number, time), facts.aligned_span(tap, worst.span))
        }
        other => (other, worst.span),
    };
    let syns = FrameObservation::Syns { syns: worst.asked, server };
    Some(
        KIND.finding(Severity::Critical, claim)
            .caused_by(if is_refused { "refused" } else { "no_answer" })
            .about(Subject { port: Some(server.ip()), ..Subject::default() })
            .over(Some(span))
            .because(Proof::frames(syns, Some(witness))),
    )
}
