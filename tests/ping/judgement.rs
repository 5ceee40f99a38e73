//! Made matrices of 2 to 64 hosts with one known fault and noise: the fault is named, and nothing
//! else; without a fault nothing is.

use proptest::prelude::*;
use proptest::test_runner::Config;
use railscope::ping::judge::{Judgement, Place, Transport, Trouble, judge};
use railscope::ping::matrix::{Absence, Cell, Device, Matrix, Probe, RailProbe, Row};
use railscope::ping::{text, words};

/// Bandwidth and round trip of healthy pairs.
const GBPS: f64 = 23.0;
const RTT_US: f64 = 50.0;

/// A fault of a made matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Row(usize),
    Column(usize),
    Both(usize),
    Pair(usize, usize),
    DeadPair(usize, usize),
    Unreached(usize),
    /// A host's device as receiver.
    Device(usize, u8),
    /// A rail of all hosts.
    Rail(u8),
}

/// Values with a normal distribution around 1, never beyond three deviations.
struct Noise {
    state: u64,
    deviation: f64,
}

impl Noise {
    fn next(&mut self) -> f64 {
        // The sum of twelve uniform numbers has deviation 1.
        let sum: f64 = (0..12).map(|_| self.uniform()).sum();
        1.0 + ((sum - 6.0).clamp(-3.0, 3.0)) * self.deviation
    }

    fn uniform(&mut self) -> f64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn device(rail: u8) -> Device {
    let number = rail.to_string();
    Device {
        name: ["mlx5_", &number].concat(),
        port: 1,
        address: "10.0.0.1".into(),
        gid_index: 3,
        is_software: false,
    }
}

/// A matrix of hosts with as many rails. `share` is what a fault leaves of the bandwidth.
fn matrix(hosts: usize, rails: u8, fault: Fault, share: f64, noise: &mut Noise) -> Matrix {
    let mut rows = Vec::new();
    for from in 0..hosts {
        let mut row = Row { devices: (0..rails).map(device).collect(), ..Row::default() };
        for to in (0..hosts).filter(|&to| to != from) {
            let is_pair = |a: usize, b: usize| (from, to) == (a, b) || (from, to) == (b, a);
            let of_host = match fault {
                Fault::Row(host) => from == host,
                Fault::Column(host) => to == host,
                Fault::Both(host) => from == host || to == host,
                Fault::Pair(a, b) => is_pair(a, b),
                _ => false,
            };
            let is_dead = match fault {
                Fault::DeadPair(a, b) => is_pair(a, b),
                Fault::Unreached(host) => to == host,
                _ => false,
            };
            let mut probe = |is_slow: bool| {
                if is_dead {
                    return Probe { error: Some("no answer".into()), ..Probe::default() };
                }
                let share = if is_slow { share } else { 1.0 };
                let rtt_us = Some(RTT_US * noise.next());
                Probe {
                    rtt_us,
                    rtt_p10_us: rtt_us,
                    gbps: Some(GBPS * share * noise.next()),
                    error: None,
                }
            };
            let tcp = probe(of_host);
            let rails = (0..rails).map(|rail| {
                let of_rail = match fault {
                    Fault::Device(host, sick) => to == host && rail == sick,
                    Fault::Rail(sick) => rail == sick,
                    _ => false,
                };
                RailProbe { from: rail, to: rail, probe: probe(of_host || of_rail) }
            });
            row.cells.push(Cell { to, connect: None, tcp, rails: rails.collect() });
        }
        rows.push(Some(row));
    }
    let hosts = (1..=hosts).map(|number| ["n", &number.to_string()].concat()).collect();
    Matrix { hosts, rows, absent: Vec::new() }
}

fn place(fault: Fault) -> Option<Place> {
    Some(match fault {
        Fault::None => return None,
        Fault::Row(host) => Place::Sender { host },
        Fault::Column(host) | Fault::Unreached(host) | Fault::Device(host, _) => {
            Place::Receiver { host }
        }
        Fault::Both(host) => Place::Host { host },
        Fault::Pair(a, b) | Fault::DeadPair(a, b) => Place::Pair { a: a.min(b), b: a.max(b) },
        Fault::Rail(_) => Place::Rail,
    })
}

fn summary(matrix: &Matrix, judgement: &Judgement) -> Vec<String> {
    judgement.findings.iter().map(|finding| words::sentence(matrix, finding)).collect()
}

fn check(hosts: usize, rails: u8, fault: Fault, seed: u64) {
    // Few figures show only large differences.
    let share = match hosts {
        ..6 => 0.07,
        6..12 => 0.2,
        _ => 0.3,
    };
    let mut noise = Noise { state: seed, deviation: 0.10 };
    let matrix = matrix(hosts, rails, fault, share, &mut noise);
    let judgement = judge(&matrix);
    let said = summary(&matrix, &judgement);
    let expected = place(fault);
    assert!(
        judgement.findings.iter().all(|finding| Some(&finding.place) == expected.as_ref()),
        "{hosts} hosts, {fault:?}: {said:?}"
    );
    // Over TCP and over RDMA, or over one of them; a rail's fault over RDMA.
    let transports = match fault {
        Fault::Device(..) | Fault::Rail(_) => 1,
        _ => 1 + usize::from(rails > 0),
    };
    assert_eq!(judgement.findings.len(), transports, "{hosts} hosts, {fault:?}: {said:?}");
}

fn check_healthy(hosts: usize, rails: u8, seed: u64) {
    let mut noise = Noise { state: seed, deviation: 0.15 };
    // With two hosts a direction has only the other one to compare with.
    let matrix = matrix(hosts, rails, Fault::None, 1.0, &mut noise);
    let judgement = judge(&matrix);
    let said = summary(&matrix, &judgement);
    assert!(judgement.findings.is_empty(), "{hosts} hosts, {rails} rails: {said:?}");
    assert!(words::verdict(&matrix, &judgement).contains("no host or pair stands out"));
}

/// Few figures tell little of their noise: so many matrices show whether too much is made of it.
#[test]
fn of_thousands_of_healthy_small_clusters_none_is_named() {
    for seed in 0..8_000_u64 {
        check_healthy(2 + seed as usize % 8, 1, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    check_healthy(8, 1, 7_199_629_379_019_088_080);
}

fn fault(hosts: usize) -> impl Strategy<Value = Fault> {
    let host = 0..hosts;
    let pair = (0..hosts, 1..hosts).prop_map(move |(a, more)| (a, (a + more) % hosts));
    prop_oneof![
        host.clone().prop_map(Fault::Row),
        host.clone().prop_map(Fault::Column),
        host.clone().prop_map(Fault::Both),
        host.clone().prop_map(Fault::Unreached),
        pair.clone().prop_map(|(a, b)| Fault::Pair(a, b)),
        pair.prop_map(|(a, b)| Fault::DeadPair(a, b)),
        (host, 0..3_u8).prop_map(|(host, rail)| Fault::Device(host, rail)),
        (0..3_u8).prop_map(Fault::Rail),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn one_fault_is_named_and_nothing_else(
        (hosts, fault) in (4..=64_usize).prop_flat_map(|hosts| (Just(hosts), fault(hosts))),
        seed in any::<u64>(),
    ) {
        check(hosts, 3, fault, seed);
    }

    #[test]
    fn healthy_hosts_with_noise_are_not_named(hosts in 2..=64_usize, rails in 0..4_u8, seed in any::<u64>()) {
        check_healthy(hosts, rails, seed);
    }

    #[test]
    fn text_fits_100_columns(
        (hosts, fault) in (2..=64_usize).prop_flat_map(|hosts| (Just(hosts), fault(hosts))),
        seed in any::<u64>(),
        domain in prop::sample::select(vec!["", ".cluster.example", "-with-a-long-name.example"]),
    ) {
        let mut noise = Noise { state: seed, deviation: 0.10 };
        let mut matrix = matrix(hosts, 2, fault, 0.3, &mut noise);
        for name in &mut matrix.hosts {
            name.push_str(domain);
        }
        let text = text::write(&matrix, &judge(&matrix));
        for line in text.lines() {
            prop_assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

fn clean() -> Noise {
    Noise { state: 7, deviation: 0.0 }
}

fn first(matrix: &Matrix) -> String {
    words::verdict(matrix, &judge(matrix))
}

#[test]
fn three_hosts_are_enough_to_name_one() {
    for host in 0..3 {
        for fault in
            [Fault::Row(host), Fault::Column(host), Fault::Both(host), Fault::Unreached(host)]
        {
            check(3, 0, fault, 11);
        }
        check(3, 0, Fault::Pair(host, (host + 1) % 3), 11);
        check(3, 0, Fault::DeadPair(host, (host + 1) % 3), 11);
    }
}

#[test]
fn the_sentence_has_host_role_and_figures() {
    let mut slow = matrix(5, 0, Fault::Column(2), 3.1 / 23.0, &mut clean());
    assert_eq!(
        first(&slow),
        "host n3 as receiver, TCP: 4 of 4 peers reach 3.1 Gb/s where other pairs have 23 (median)"
    );
    slow = matrix(5, 0, Fault::Pair(0, 3), 0.1, &mut clean());
    assert_eq!(first(&slow), "pair n1 and n4, TCP: 2.3 Gb/s where other pairs have 23 (median)");
    let device = matrix(5, 3, Fault::Device(2, 1), 0.1, &mut clean());
    assert_eq!(
        first(&device),
        "host n3 as receiver, RDMA on rail 1 (mlx5_1): 4 of 4 peers reach 2.3 Gb/s where other \
         pairs have 23 (median)"
    );
    let rail = matrix(5, 3, Fault::Rail(1), 0.5, &mut clean());
    assert_eq!(
        first(&rail),
        "RDMA on rail 1 (mlx5_1): 12 Gb/s where other rails have 23 (medians)"
    );
}

#[test]
fn of_two_hosts_the_side_is_unknown() {
    let mut two = matrix(2, 0, Fault::None, 1.0, &mut clean());
    let cell = two.rows[0].as_mut().unwrap().cells.first_mut().unwrap();
    cell.tcp.gbps = Some(3.1);
    let judgement = judge(&two);
    assert!(judgement.is_side_unknown);
    assert_eq!(
        first(&two),
        "n1 to n2, TCP: 3.1 Gb/s, the other way 23; with two hosts it is unknown which side is at fault"
    );
    let is_named = |gbps: f64| {
        let mut two = two.clone();
        let cell = two.rows[0].as_mut().unwrap().cells.first_mut().unwrap();
        cell.tcp.gbps = Some(gbps);
        !judge(&two).findings.is_empty()
    };
    assert!(is_named(0.3 * GBPS) && !is_named(0.4 * GBPS), "noise makes 0.4");
    let dead = matrix(2, 0, Fault::DeadPair(0, 1), 1.0, &mut clean());
    assert_eq!(first(&dead), "n1 and n2 do not reach each other, TCP: no answer");
}

/// Adds cross-rail cells to a matrix of two rails, which connect if `works` says so.
fn with_cross_rails(mut matrix: Matrix, works: impl Fn(usize, usize) -> bool) -> Matrix {
    for (from, row) in matrix.rows.iter_mut().enumerate() {
        for cell in row.iter_mut().flat_map(|row| &mut row.cells) {
            let error = (!works(from, cell.to)).then(|| "status=12 retry exceeded".to_owned());
            let rtt_us = error.is_none().then_some(RTT_US);
            let probe = Probe { rtt_us, rtt_p10_us: rtt_us, gbps: None, error };
            cell.rails.extend([(0, 1), (1, 0)].map(|(from, to)| RailProbe {
                from,
                to,
                probe: probe.clone(),
            }));
        }
    }
    matrix
}

#[test]
fn a_rail_only_fabric_is_said_and_not_alarmed() {
    let healthy = || matrix(4, 2, Fault::None, 1.0, &mut clean());
    let rail_only = with_cross_rails(healthy(), |_, _| false);
    let judgement = judge(&rail_only);
    assert_eq!(judgement.findings, []);
    assert!(judgement.is_rail_only);
    let text = text::write(&rail_only, &judgement);
    assert!(
        text.contains(
            "rail-only fabric: cross-rail pairs do not connect, which is by design there"
        ),
        "{text}"
    );
    // One of them fails alone: that is no design.
    let one = with_cross_rails(healthy(), |from, to| (from, to) != (1, 2));
    let judgement = judge(&one);
    assert!(!judgement.is_rail_only);
    assert_eq!(judgement.findings[0].place, Place::Direction { from: 1, to: 2 });
    // Nor if same rails fail, too.
    let sick = matrix(4, 2, Fault::DeadPair(0, 1), 1.0, &mut clean());
    assert!(!judge(&with_cross_rails(sick, |_, _| false)).is_rail_only);
}

#[test]
fn a_fault_of_all_rails_is_one_finding() {
    let judgement = judge(&matrix(6, 3, Fault::Column(4), 0.2, &mut clean()));
    let rdma: Vec<_> =
        judgement.findings.iter().filter(|finding| finding.transport != Transport::Tcp).collect();
    assert_eq!(rdma.len(), 1);
    assert!(
        matches!(&rdma[0].transport, Transport::Rdma { rails, is_all: true } if rails.len() == 3)
    );
    assert_eq!((rdma[0].low, rdma[0].all), (15, 15));
}

#[test]
fn absent_hosts_come_first() {
    let mut matrix = matrix(4, 0, Fault::None, 1.0, &mut clean());
    matrix.rows[3] = None;
    for row in matrix.rows.iter_mut().flatten() {
        row.cells.retain(|cell| cell.to != 3);
    }
    let why = "did not come within 30 s: 10.0.0.4:18516 refuses the connection".to_owned();
    matrix.absent.push(Absence { host: 3, why, is_unresolved: false });
    let judgement = judge(&matrix);
    assert_eq!(judgement.findings[0].trouble, Trouble::Absent);
    assert_eq!(
        first(&matrix),
        "host n4 did not come within 30 s: 10.0.0.4:18516 refuses the connection"
    );
}

/// Two leaves with a slow uplink between them: no host is at fault.
#[test]
fn two_levels_of_bandwidth_name_no_host() {
    let mut matrix = matrix(8, 0, Fault::None, 1.0, &mut clean());
    for (from, row) in matrix.rows.iter_mut().enumerate() {
        for cell in row.iter_mut().flat_map(|row| &mut row.cells) {
            if (from < 4) != (cell.to < 4) {
                cell.tcp.gbps = Some(GBPS / 3.0);
            }
        }
    }
    let judgement = judge(&matrix);
    let said = summary(&matrix, &judgement);
    assert!(judgement.findings.is_empty(), "{said:?}");
}

/// Six hosts on one leaf and two on another, with a slow uplink: the two are named, and what they share.
#[test]
fn a_small_leaf_is_said_to_share_its_uplink() {
    let mut matrix = matrix(8, 0, Fault::None, 1.0, &mut clean());
    for (from, row) in matrix.rows.iter_mut().enumerate() {
        for cell in row.iter_mut().flat_map(|row| &mut row.cells) {
            if (from < 6) != (cell.to < 6) {
                cell.tcp.gbps = Some(GBPS / 5.0);
            }
        }
    }
    let judgement = judge(&matrix);
    let places: Vec<_> = judgement.findings.iter().map(|finding| finding.place.clone()).collect();
    assert_eq!(places, [Place::Host { host: 6 }, Place::Host { host: 7 }]);
    let text = text::write(&matrix, &judgement).replace('\n', " ");
    assert!(text.contains("n7, n8 reach each other at 23 Gb/s: look at what they share"), "{text}");
}

#[test]
fn bandwidth_of_software_rdma_is_not_judged() {
    let software = |fault, share| {
        let mut matrix = matrix(5, 1, fault, share, &mut clean());
        let devices = matrix.rows.iter_mut().flatten().flat_map(|row| &mut row.devices);
        for device in devices {
            device.is_software = true;
        }
        for rail in matrix.rows.iter_mut().flatten().flat_map(|row| &mut row.cells) {
            // TCP is what it was before the fault.
            rail.tcp.gbps = Some(20.0);
        }
        judge(&matrix)
    };
    let slow = software(Fault::Both(2), 0.2);
    assert!(slow.findings.is_empty(), "{:?}", slow.findings);
    assert!(slow.is_software_rdma);
    let mut mixed = matrix(6, 1, Fault::Both(2), 0.2, &mut clean());
    if let Some(device) = mixed.rows[4].as_mut().and_then(|row| row.devices.first_mut()) {
        device.is_software = true;
    }
    let of_rdma: Vec<Place> = judge(&mixed)
        .findings
        .into_iter()
        .filter(|finding| matches!(finding.transport, Transport::Rdma { .. }))
        .map(|finding| finding.place)
        .collect();
    assert_eq!(of_rdma, [Place::Host { host: 2 }], "one software device hides no slow NIC");
    let dead = software(Fault::DeadPair(1, 3), 1.0);
    assert!(!dead.findings.is_empty());
    assert!(dead.findings.iter().all(|finding| finding.trouble == Trouble::Unreached));
}
