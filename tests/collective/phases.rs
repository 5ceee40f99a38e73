//! Phases of a job with known times.

use railscope_core::analysis::collective::extract::collectives;
use railscope_core::analysis::phase;
use railscope_core::analysis::phase::PhaseKind;
use railscope_core::model::nccl::{CollectiveKind, Protocol};

use super::job::{Cluster, Operation};

#[test]
fn broadcasts_before_the_first_gradient_are_a_phase_and_long_pauses_are_idle() {
    let operation =
        |kind| Operation { kind, protocol: Protocol::Simple, shares: vec![65_536], root: 0 };
    let mut cluster = Cluster::new(4, 1, 1 << 20);
    cluster.run(&operation(CollectiveKind::Broadcast));
    cluster.run(&operation(CollectiveKind::Broadcast));
    for iteration in 0..10 {
        cluster.run(&operation(CollectiveKind::AllReduce));
        cluster.pause(if iteration == 6 { 3_000_000_000 } else { 100_000_000 });
    }
    let job = cluster.finish();
    let collectives = collectives(&job);
    let phases = phase::phases(&job, &[], &collectives);
    let kinds: Vec<PhaseKind> = phases.iter().map(|phase| phase.kind).collect();
    assert_eq!(kinds, [PhaseKind::ParameterBroadcast, PhaseKind::Training, PhaseKind::Idle]);
    assert_eq!(phases[0].span.last, collectives[1].span.last);
    assert_eq!(phases[1].span.first, collectives[2].span.first);
    assert_eq!(phases[2].span.first, collectives[8].span.last);
    assert_eq!(phases[2].span.last, collectives[9].span.first);
}
