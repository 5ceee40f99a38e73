//! The scenario and its jobs as records of `railscope.truth/1`.

use super::control::ControlPlane;
use super::epoch::epoch_ns;
use super::job::TrainingJob;
use super::network::Network;
use super::plan;
use super::scenario::Scenario;
use super::scenario::map::Map;
use super::scenario::quantity::Time;
use super::scenario::trouble::StragglerCause;
use super::time::VirtualTime;
use crate::bootstrap::identity;
use crate::collective::Operation;
use crate::truth::{self, FaultRecord, LinkRole, Record};

/// Job, ranks, faults, expected findings, connections, collectives.
#[must_use]
pub fn beginning(
    number: u32,
    scenario: &Scenario,
    map: &Map,
    (job, control): (&TrainingJob, &ControlPlane),
) -> Vec<Record> {
    let mut records = vec![Record::Job(introduction(number, scenario, job, control))];
    records
        .extend((0..job.seats().ranks()).map(|rank| Record::Rank(person(rank, map, job, control))));
    if number == 0 {
        records.extend(faults(scenario).into_iter().map(Record::Fault));
        records.extend(scenario.expect.iter().map(|expect| {
            Record::Expected(truth::Expected {
                finding: expect.finding.clone(),
                rank: expect.rank,
                cause: expect.cause.clone(),
                place: expect.place.clone(),
                is_possible: expect.is_possible,
            })
        }));
    }
    for rank in 0..job.seats().ranks() {
        for channel in 0..job.seats().channels {
            records.extend(links(rank, channel, job, control).map(Record::Link));
        }
    }
    records.extend(job.collectives().map(|(sequence, iteration, is_warmup, operation)| {
        Record::Collective(collective(sequence, iteration, is_warmup, operation))
    }));
    records
}

/// The counters of each port.
#[must_use]
pub fn ports(map: &Map, network: &Network) -> Vec<Record> {
    let names = map.links.iter().flat_map(|link| &link.ends).map(|end| &end.name);
    let port = |name: &String| {
        let counters = network.port_counters(plan::port(map, name)?)?;
        Some(Record::Port(truth::PortRecord {
            port: name.clone(),
            frames_sent: counters.frames_sent,
            bytes_sent: counters.bytes_sent,
            frames_marked: counters.frames_marked,
            frames_lost: counters.frames_lost,
            frames_dropped: counters.frames_dropped,
        }))
    };
    names.filter_map(port).collect()
}

fn introduction(
    number: u32,
    scenario: &Scenario,
    job: &TrainingJob,
    control: &ControlPlane,
) -> truth::Job {
    let plan = scenario.job.get(number as usize).cloned().unwrap_or_default();
    truth::Job {
        schema: truth::SCHEMA.to_owned(),
        nccl_version: plan.nccl.to_string(),
        transport: "simulated".to_owned(),
        network: "IB".to_owned(),
        ranks: job.seats().ranks(),
        channels: plan.channels,
        store: control.store,
        unique_id: control.id.to_string(),
        magic: format!("{:#018x}", control.id.magic()),
        comm_hash: format!("{:#018x}", control.id.comm_hash(plan.nccl)),
        root: control.id.root().unwrap_or(control.store),
    }
}

fn person(rank: u32, map: &Map, job: &TrainingJob, control: &ControlPlane) -> truth::Rank {
    let host = job.seats().host(rank);
    let process = control.processes.get(rank as usize).copied();
    let (address, pid) = process.unwrap_or((control.store.ip(), 0));
    let nic = map.nics.get(map.nic_of(host, job.seats().rail(0)));
    truth::Rank {
        rank,
        host: format!("host{host}"),
        pid,
        address,
        data_address: nic.map_or(address, |nic| nic.address),
        interface: "eth0".to_owned(),
        device: nic.map(super::scenario::map::Nic::device).unwrap_or_default(),
        bus_id: identity::bus_id_text(rank % job.seats().per_host),
    }
}

/// Both ends of a rank's connection to the next.
fn links(
    rank: u32,
    channel: u32,
    job: &TrainingJob,
    control: &ControlPlane,
) -> impl Iterator<Item = truth::Link> {
    let (peer, connection) = job.connection(rank, channel);
    let exchange = control.exchanges.get(&(rank, channel)).copied();
    let ends = connection.map(|connection| {
        let numbers = |pairs: &[super::network::notice::QueuePairId]| {
            pairs.iter().map(|pair| pair.qpn).collect::<Vec<_>>()
        };
        let (sending, receiving) = (numbers(&connection.sending), numbers(&connection.receiving));
        let end = |role, rank, peer, qpns, peer_qpns| truth::Link {
            rank,
            peer,
            role,
            channel,
            qpns,
            peer_qpns,
            connector: exchange.map(|exchange| exchange.connector),
            listener: exchange.map(|exchange| exchange.listener),
            fifo_address: Some(connection.fifo.0),
            fifo_rkey: Some(connection.fifo.1),
        };
        [
            end(LinkRole::Sender, rank, peer, sending.clone(), receiving.clone()),
            end(LinkRole::Receiver, peer, rank, receiving, sending),
        ]
    });
    ends.into_iter().flatten()
}

fn collective(
    sequence: u64,
    iteration: Option<u32>,
    is_warmup: bool,
    operation: &Operation,
) -> truth::Collective {
    truth::Collective {
        sequence,
        kind: operation.kind.name().to_owned(),
        algorithm: "ring".to_owned(),
        protocol: "simple".to_owned(),
        bytes: operation.part_bytes() as u64,
        data_type: operation.data_type.name().to_owned(),
        operator: operation.operator.name().to_owned(),
        root: None,
        iteration,
        is_warmup,
    }
}

fn faults(scenario: &Scenario) -> Vec<FaultRecord> {
    let at = |kind: &str, place: &str, from: Option<Time>, until: Option<Time>| FaultRecord {
        place: Some(place.to_owned()),
        start_ns: from.map(|time| epoch_ns(VirtualTime(time.0))),
        end_ns: until.map(|time| epoch_ns(VirtualTime(time.0))),
        ..FaultRecord::plain(kind)
    };
    let late = |kind: &str, rank, delay: Time, iterations: Option<[u32; 2]>| FaultRecord {
        rank: Some(rank),
        delay_ns: Some(delay.0),
        first_iteration: iterations.map(|[first, _]| first),
        last_iteration: iterations.map(|[_, last]| last),
        ..FaultRecord::plain(kind)
    };
    let mut faults = Vec::new();
    faults.extend(scenario.straggler.iter().map(|trouble| FaultRecord {
        cause: Some(match trouble.cause {
            StragglerCause::Compute => "compute".to_owned(),
            StragglerCause::Enqueue => "enqueue".to_owned(),
        }),
        ..late("straggler", trouble.rank, trouble.delay, trouble.iterations)
    }));
    faults.extend(
        scenario
            .slow_receiver
            .iter()
            .map(|trouble| late("slow_receiver", trouble.rank, trouble.delay, trouble.iterations)),
    );
    faults.extend(scenario.loss.iter().map(|trouble| FaultRecord {
        share: Some(trouble.share.0),
        ..at("loss", &trouble.port, trouble.from, trouble.until)
    }));
    faults.extend(scenario.reorder.iter().map(|trouble| FaultRecord {
        share: Some(trouble.share.0),
        delay_ns: Some(trouble.delay.0),
        ..at("reorder", &trouble.port, trouble.from, trouble.until)
    }));
    faults.extend(
        scenario
            .flap
            .iter()
            .map(|trouble| at("flap", &trouble.port, Some(trouble.from), Some(trouble.until))),
    );
    faults.extend(scenario.background.iter().map(|trouble| {
        let place = format!("{} to {}", trouble.sender, trouble.receiver);
        at("background", &place, trouble.from, trouble.until)
    }));
    faults.extend(
        scenario
            .slow_nic
            .iter()
            .map(|trouble| at("slow_nic", &trouble.nic, trouble.from, trouble.until)),
    );
    faults.extend(
        scenario.pause_storm.iter().map(|trouble| {
            at("pause_storm", &trouble.nic, Some(trouble.from), Some(trouble.until))
        }),
    );
    faults.extend(
        scenario.wrong_dscp.iter().map(|trouble| at("wrong_dscp", &trouble.host, None, None)),
    );
    faults.extend(scenario.not_ect.iter().map(|trouble| at("not_ect", &trouble.port, None, None)));
    faults
}
