//! Which rank is named if one is late, if one receives slowly, and if none does.

use railscope_core::analysis::collective::Collective;
use railscope_core::analysis::collective::extract::collectives;
use railscope_core::analysis::iteration::Iteration;
use railscope_core::analysis::straggler::search;
use railscope_core::analysis::straggler::sign::SignKind;
use railscope_core::analysis::straggler::{Cause, Straggler};
use railscope_core::analysis::wait::{
    self, departure::DepartureClocks, feed::Feeds, pause::Pauses, trouble::Troubles,
};
use railscope_core::link::job::{Job, SocketPair, Transfer};
use railscope_core::model::grade::Grade;
use railscope_core::model::nccl::{CollectiveKind, Protocol};
use railscope_core::model::time::{Span, Timestamp};

use super::job::{Cluster, Operation};

const COLLECTIVES: usize = 6;
/// The affected rank.
const AFFECTED: usize = 3;
const LATE_NS: u64 = 400_000;

fn job() -> (Job, Vec<Collective>) {
    let mut cluster = Cluster::new(4, 2, 1 << 18);
    let operation = Operation {
        kind: CollectiveKind::AllReduce,
        protocol: Protocol::Simple,
        shares: vec![1 << 20; 2],
        root: 0,
    };
    for _ in 0..COLLECTIVES {
        cluster.pause(1_000_000);
        cluster.run(&operation);
    }
    let job = cluster.finish();
    let collectives = collectives(&job);
    assert_eq!(collectives.len(), COLLECTIVES);
    (job, collectives)
}

fn stragglers(job: &Job, collectives: &[Collective]) -> Vec<Option<Straggler>> {
    in_iterations(job, collectives, &[])
}

fn in_iterations(
    job: &Job,
    collectives: &[Collective],
    iterations: &[Iteration],
) -> Vec<Option<Straggler>> {
    let waits = wait::measure(
        job,
        (&Troubles::default(), &Pauses::default()),
        &DepartureClocks::default(),
        &Feeds::default(),
        collectives,
    );
    let delays = search::delays((job, &Feeds::default()), collectives, &waits, iterations);
    delays.into_iter().map(|one| one.straggler).collect()
}

/// Training steps of one collective each, so long that `LATE_NS` is twice the limit for a
/// straggler.
fn iterations(collectives: &[Collective]) -> Vec<Iteration> {
    let iteration = |(at, collective): (usize, &Collective)| {
        let first = collective.span.first;
        Iteration {
            number: at as u32,
            label: None,
            communicator: collective.communicator,
            span: Span { first, last: first.plus_nanos(10 * LATE_NS) },
            collectives: vec![at],
            communication_ns: 0,
            is_whole: true,
            grade: Grade::Inferred,
        }
    };
    collectives.iter().enumerate().map(iteration).collect()
}

/// Changes the messages of one collective that `rank` sends, or those that it receives.
fn change(
    (job, collectives): &mut (Job, Vec<Collective>),
    at: usize,
    (rank, is_sender): (u32, bool),
    change: impl Fn(usize, &mut Transfer),
) {
    for on in &collectives[at].transfers {
        let connection = &mut job.connections[on.connection.0 as usize];
        let end = if is_sender { connection.sender } else { connection.receiver };
        if end == Some(rank) {
            let transfers = &mut connection.transfers[on.places.clone()];
            transfers.iter_mut().enumerate().for_each(|(at, transfer)| change(at, transfer));
        }
    }
}

fn later(time: &mut Timestamp, by_ns: u64) {
    *time = time.plus_nanos(by_ns);
}

fn send_later(transfer: &mut Transfer, by_ns: u64) {
    let spans: [&mut Option<Span>; 2] = [&mut transfer.sent, &mut transfer.received];
    for span in spans.into_iter().flatten() {
        later(&mut span.first, by_ns);
        later(&mut span.last, by_ns);
    }
}

fn offer_later(transfer: &mut Transfer, by_ns: u64) {
    let cts = transfer.cts.as_mut().expect("the model sends clear-to-sends");
    for time in [&mut cts.posted, &mut cts.arrived].into_iter().flatten() {
        later(time, by_ns);
    }
}

#[test]
fn no_straggler_if_all_ranks_are_equal() {
    let (job, collectives) = job();
    assert_eq!(stragglers(&job, &collectives), vec![None; COLLECTIVES]);
}

#[test]
fn late_data_alone_means_a_late_gpu() {
    let mut case = job();
    change(&mut case, AFFECTED, (2, true), |_, transfer| send_later(transfer, LATE_NS));
    let found = stragglers(&case.0, &case.1);
    let named = found[AFFECTED].as_ref().expect("a straggler");
    assert_eq!((named.rank, named.cause), (2, Cause::Compute));
    assert!(named.lag_ns.abs_diff(LATE_NS) <= 1000, "{named:?}");
    let is_rank = |sign: SignKind| matches!(sign, SignKind::StartWait { rank: 2, .. });
    assert!(is_rank(named.evidence[0].kind), "{named:?}");
    assert!(named.evidence[0].witness.is_some());
    assert_eq!(found.iter().flatten().count(), 1, "{found:?}");
}

#[test]
fn a_late_clear_to_send_too_means_a_late_call() {
    let mut case = job();
    change(&mut case, AFFECTED, (2, true), |_, transfer| send_later(transfer, LATE_NS));
    change(&mut case, AFFECTED, (2, false), |_, transfer| {
        offer_later(transfer, LATE_NS);
        // Its sender waits for that.
        send_later(transfer, LATE_NS);
    });
    let found = stragglers(&case.0, &case.1);
    let named = found[AFFECTED].as_ref().expect("a straggler");
    assert_eq!((named.rank, named.cause), (2, Cause::Enqueue));
}

#[test]
fn a_rank_that_is_late_around_a_training_step_is_late_in_it_by_less() {
    const LESS_NS: u64 = LATE_NS / 2 - 50_000;
    let mut case = job();
    change(&mut case, AFFECTED, (2, true), |_, transfer| send_later(transfer, LESS_NS));
    let iterations = iterations(&case.1);
    assert_eq!(in_iterations(&case.0, &case.1, &iterations)[AFFECTED], None);
    for at in [AFFECTED - 1, AFFECTED + 1] {
        change(&mut case, at, (2, true), |_, transfer| send_later(transfer, LATE_NS));
    }
    let found = in_iterations(&case.0, &case.1, &iterations);
    let named = found[AFFECTED].as_ref().expect("a straggler, rank 2");
    assert_eq!((named.rank, named.cause, named.grade), (2, Cause::Compute, Grade::Inferred));
    let reasons: Vec<&str> = named.evidence.iter().map(|sign| sign.kind.name()).collect();
    assert_eq!(reasons, ["start_wait", "busy_time", "first_cts", "persistent"]);
}

#[test]
fn the_first_collective_may_set_up_connections() {
    let mut case = job();
    change(&mut case, 0, (2, true), |_, transfer| send_later(transfer, LATE_NS));
    assert_eq!(stragglers(&case.0, &case.1)[0], None);
}

#[test]
fn a_rank_that_takes_data_slowly_all_the_time_is_a_slow_receiver() {
    let mut case = job();
    for at in 0..COLLECTIVES {
        change(&mut case, at, (1, false), |message, transfer| {
            if message >= 4 {
                // Each window is offered later than the one before.
                offer_later(transfer, 100_000 * (message as u64 / 4));
                send_later(transfer, 100_000 * (message as u64 / 4));
            }
        });
    }
    let found = stragglers(&case.0, &case.1);
    for named in &found {
        let named = named.as_ref().expect("rank 1 is slow");
        assert_eq!((named.rank, named.cause), (1, Cause::Receiver), "{named:?}");
    }
}

/// How much longer a message takes on a slow path over TCP.
const SLOWER_NS: u64 = 50_000;

/// The same job over NET/Socket, where messages of rank 2 are slow in some collectives; `is_receiver`:
/// because the next rank takes no data.
fn over_sockets(is_slow: impl Fn(usize) -> bool, is_receiver: bool) -> (Job, Vec<Collective>) {
    let mut case = job();
    for connection in &mut case.0.connections {
        connection.queue_pairs.clear();
        connection.socket = Some(SocketPair {
            sender: ([10, 0, 0, 1], 40_000).into(),
            receiver: ([10, 0, 0, 2], 50_000).into(),
            departure_tap: None,
            closed: Vec::new(),
            stall: None,
            advance: None,
            tap: None,
            is_lost: false,
        });
        connection.transfers.iter_mut().for_each(|transfer| transfer.cts = None);
    }
    for at in (0..COLLECTIVES).filter(|at| is_slow(*at)) {
        change(&mut case, at, (2, true), |message, transfer| {
            send_later(transfer, SLOWER_NS * message as u64);
            for span in [&mut transfer.sent, &mut transfer.received].into_iter().flatten() {
                later(&mut span.last, SLOWER_NS);
            }
        });
    }
    for connection in case.0.connections.iter_mut().filter(|_| is_receiver) {
        let long = |span: Span| (span.length_ns() > SLOWER_NS).then_some(span);
        let slow = connection.transfers.iter().filter_map(|transfer| long(transfer.sent?));
        let closed = slow.map(|span| Span { first: span.first.plus_nanos(600), ..span }).collect();
        connection.socket.as_mut().expect("it is over TCP").closed = closed;
    }
    case
}

#[test]
fn connections_over_tcp_that_are_alike_have_no_straggler() {
    let (job, collectives) = over_sockets(|_| false, false);
    assert_eq!(stragglers(&job, &collectives), vec![None; COLLECTIVES]);
}

#[test]
fn a_slow_path_over_tcp_is_the_socket_of_its_sender() {
    let (job, collectives) = over_sockets(|_| true, false);
    for (named, collective) in stragglers(&job, &collectives).iter().zip(&collectives) {
        let named = named.as_ref().expect("rank 2 is slow");
        assert_eq!((named.rank, named.cause, named.grade), (2, Cause::Socket, Grade::Inferred));
        let messages = collective.transfers[0].places.len() as u64;
        assert_eq!(named.lag_ns, messages * SLOWER_NS, "{named:?}");
        let kind = named.evidence[0].kind;
        assert!(matches!(kind, SignKind::OverTcp { sender: 2, receiver: 3, .. }), "{kind:?}");
    }
    let (job, collectives) = over_sockets(|at| at == 3, false);
    assert_eq!(stragglers(&job, &collectives), vec![None; COLLECTIVES], "once proves nothing");
}

#[test]
fn a_receiver_that_takes_no_data_is_no_slow_path() {
    let (job, collectives) = over_sockets(|_| true, true);
    assert_eq!(stragglers(&job, &collectives), vec![None; COLLECTIVES]);
}
