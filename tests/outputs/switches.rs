//! Tables of switches: SONiC and Arista EOS.

use super::{names, report, reports, title, titles};

const QUEUES: &str = "\
For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet8    UC0           1,500          120,000            0             0
Ethernet8    UC3          90,210      380,200,100        1,207     5,100,400
Ethernet8    MC8             N/A              N/A          N/A           N/A
";

#[test]
fn drops_of_a_queue() {
    let once = report(QUEUES);
    assert_eq!(
        titles(&once, "switch_drops"),
        ["switch port Ethernet8 queue 3 dropped 1,207 packets since its counters were cleared"]
    );
    assert!(once.findings.iter().all(|finding| finding.severity == "info"));
    assert_eq!(once.inputs[0].kind, "switch");
    let later = QUEUES.replace("1,207", "1,300").replace("90,210", "95,000");
    let text = format!("admin@leaf1:~$ show queue counters\n{QUEUES}admin@leaf1:~$ !!\n{later}");
    let twice = report(&text);
    assert_eq!(
        titles(&twice, "switch_drops"),
        ["leaf1 Ethernet8 queue 3 dropped 93 packets between two readings"]
    );
    assert_eq!(twice.findings[0].severity, "warning");
    let same = report(&format!("{QUEUES}\n{}", QUEUES.replace("90,210", "95,000")));
    assert!(same.findings.is_empty(), "{:?}", names(&same));
    // A lower value shows that the counters were cleared, or another switch.
    let cleared = report(&format!("{QUEUES}\n{}", QUEUES.replace("1,207", "11")));
    assert_eq!(cleared.findings[0].severity, "info");
    let healthy = report(&QUEUES.replace("1,207", "0"));
    assert!(healthy.findings.is_empty());
    assert_eq!(healthy.switches[0].counters_read, 2);
}

#[test]
fn drops_of_a_lossless_queue() {
    let text = format!(
        "{QUEUES}\nInterface    Lossless priorities\n-----------  ---------------------\nEthernet8    3,4\n"
    );
    assert_eq!(
        title(&text, "switch_drops"),
        "switch port Ethernet8 queue 3 dropped 1,207 packets since its counters were cleared, although it is \
         lossless"
    );
}

fn ports(received: &str, errors: u64, dropped: u64) -> String {
    format!(
        "      IFACE    STATE            RX_OK       RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR    TX_OK       TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR\n\
         -----------  -------  ---------------  -----------  ---------  --------  --------  --------  -------  -----------  ---------  --------  --------  --------\n\
         \x20 Ethernet0        U  {received}  653.87 MB/s     12.77%  {errors}  {dropped}  0  409,682  556.84 MB/s     10.88%         0         0         0\n\
         \x20 Ethernet4        D  0  0.00 B/s     0.00%  0  0  N/A  0  0.00 B/s     N/A         N/A         N/A         N/A\n"
    )
}

#[test]
fn ports_of_sonic() {
    let once = report(&ports("471,729,839", 7, 18_682));
    assert_eq!(names(&once), ["switch_drops", "switch_errors"]);
    assert!(once.findings.iter().all(|finding| finding.severity == "info"));
    assert_eq!(once.switches[0].ports.len(), 2);
    let twice = |errors, dropped| {
        let second = ports("571,729,839", errors, dropped);
        report(&format!("{}\n{second}", ports("471,729,839", 7, 18_682)))
    };
    // Frames that switches drop on purpose are few.
    let well = twice(7, 18_700);
    assert!(well.findings.iter().all(|finding| finding.severity == "info"));
    let bad = twice(9, 118_700);
    assert_eq!(
        titles(&bad, "switch_errors"),
        ["switch port Ethernet0 received 2 packets with errors between two readings"]
    );
    assert!(bad.findings.iter().all(|finding| finding.severity == "warning"));
}

fn pause(received: u64, sent: u64) -> String {
    let table = |direction, count| {
        format!(
            "  Port {direction}    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n\
             ---------  ------  ------  ------  ------  ------  ------  ------  ------\n\
             Ethernet0       0       0       0  {count}       0       0       0       0\n\
             Ethernet4       0       0       0       0       0       0       0       0\n\n"
        )
    };
    table("Rx", received) + &table("Tx", sent)
}

#[test]
fn pause_by_priority() {
    let title_of = |received, sent| titles(&report(&pause(received, sent)), "switch_paused");
    assert_eq!(
        title_of(4_200, 12),
        [
            "switch port Ethernet0 priority 3 received 4,200 pause frames and sent 12 since its counters were \
          cleared"
        ]
    );
    assert!(
        title_of(0, 5_000).is_empty(),
        "the switch pauses hosts: congestion, no fault of a host"
    );
    assert!(title_of(20, 0).is_empty());
    let twice = report(&format!("{}{}", pause(4_200, 12), pause(9_200, 12)));
    assert_eq!(twice.findings[0].severity, "warning");
    assert_eq!(twice.switches[0].counters[0].rise, Some(5_000));
}

/// A reading of what priority groups dropped, of queues and of the pause that ports sent.
fn lossless(dropped: u64, sent: u64) -> String {
    format!(
        "admin@leaf1:~$ show priority-group drop counters\nIngress PG dropped packets:\n     \
         Port    PG0    PG1    PG2    PG3    PG4\n---------  -----  -----  -----  -----  -----\n\
         Ethernet0      0      0      0  {dropped}      0\nEthernet4      0      0      0      0      0\n\
         admin@leaf1:~$ show pfc counters\n{}",
        pause(0, sent)
    )
}

const PRIORITIES: &str = "admin@leaf1:~$ show pfc priority\nInterface    Lossless priorities\n-----------  ---------------------\n\
    Ethernet0    3,4\nEthernet4    3,4\n\n";

#[test]
fn lossless_drops_without_a_pause() {
    let of = |before: &str, first: (u64, u64), second: (u64, u64)| {
        let text = [before, &lossless(first.0, first.1), &lossless(second.0, second.1)].concat();
        titles(&report(&text), "switch_no_pause")
    };
    assert_eq!(
        of(PRIORITIES, (5, 0), (905, 0)),
        [
            "leaf1 Ethernet0 priority group 3 dropped 900 packets between two readings, and its port sent no pause \
          frame on priority 3"
        ]
    );
    // Pauses that were sent long ago tell nothing of now.
    assert_eq!(of(PRIORITIES, (5, 40), (905, 40)).len(), 1);
    assert!(of(PRIORITIES, (5, 0), (905, 7)).is_empty(), "it paused, too late");
    assert!(of(PRIORITIES, (5, 0), (5, 0)).is_empty(), "it dropped nothing");
    assert!(of("", (5, 0), (905, 0)).is_empty(), "the priority may be lossy");
    assert!(of(&PRIORITIES.replace("3,4", "5"), (5, 0), (905, 0)).is_empty(), "it is lossy");
    let storm = [PRIORITIES, &watchdog("operational", "2/2")].concat();
    assert!(of(&storm, (5, 0), (905, 0)).is_empty(), "the watchdog drops");
    let once = report(&format!("{PRIORITIES}{}", lossless(5, 0)));
    assert_eq!(titles(&once, "switch_no_pause").len(), 1);
    assert!(once.findings.iter().all(|finding| finding.severity == "info"));
}

#[test]
fn lossless_drops_of_a_queue_need_all_ports_to_be_silent() {
    let settings = PRIORITIES.replace("Ethernet4", "Ethernet8");
    let of = |sent: u64| {
        titles(&report(&[&settings, QUEUES, &pause(0, sent)].concat()), "switch_no_pause")
    };
    assert_eq!(
        of(0),
        [
            "leaf1 Ethernet8 queue 3 dropped 1,207 packets since its counters were cleared, and none of 2 ports \
          sent a pause frame on priority 3"
        ]
    );
    assert!(of(12).is_empty());
}

fn watchdog(status: &str, storms: &str) -> String {
    format!(
        "      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP\n\
         -----------  -----------  -------------------------  ------------  ------------  -----------------  -----------------\n\
         Ethernet4:3  {status}  {storms}  100/250  100/50  0/200  0/200\n"
    )
}

#[test]
fn storms_of_pause() {
    assert!(report(&watchdog("operational", "0/0")).findings.is_empty());
    let now = report(&watchdog("stormed", "2/1"));
    assert_eq!(
        titles(&now, "pfc_watchdog"),
        ["PFC watchdog: switch port Ethernet4 queue 3 is in a storm now, 300 packets dropped"]
    );
    assert_eq!(now.findings[0].severity, "warning");
    let past = report(&watchdog("operational", "2/2"));
    assert_eq!(
        titles(&past, "pfc_watchdog"),
        [
            "PFC watchdog: switch port Ethernet4 queue 3 had 2 storms since its counters were cleared, 300 packets \
          dropped"
        ]
    );
    assert_eq!(past.findings[0].severity, "info");
    let older = watchdog("", "3/3")
        .replace("  STATUS", "")
        .replace("-----------  -----------  -", "-----------  -");
    assert_eq!(titles(&report(&older), "pfc_watchdog").len(), 1);
}

#[test]
fn high_water_marks_and_settings_are_information() {
    let text = "\
Ingress headroom per PG:
       Port    PG0    PG1    PG2      PG3    PG4    PG5    PG6    PG7
-----------  -----  -----  -----  -------  -----  -----  -----  -----
Ethernet120      0      0      0   12,800      0      0      0      0
Ingress shared pool occupancy per PG:
       Port    PG0    PG1    PG2      PG3    PG4    PG5    PG6    PG7
-----------  -----  -----  -----  -------  -----  -----  -----  -----
Ethernet120      0      0      0  2092800      0      0      0  18432
Egress shared pool occupancy per unicast queue:
       Port    UC0    UC1    UC2      UC3    UC4    UC5    UC6    UC7    UC8    UC9
-----------  -----  -----  -----  -------  -----  -----  -----  -----  -----  -----
  Ethernet4      0      0      0  2097408      0      0      0   7168      0      0
     Port    TxQ    WredDrp/pkts    WredDrp/bytes    EcnMarked/pkts    EcnMarked/bytes
---------  -----  --------------  ---------------  ----------------  -----------------
Ethernet4    UC3               0                0             5,120             20,480

  Interface            Lanes    Speed    MTU    FEC            Alias    Oper    Admin                 Type    Asym PFC
-----------  ---------------  -------  -----  -----  ---------------  ------  -------  -------------------  ----------
  Ethernet0      49,50,51,52     400G   9100     rs  hundredGigE1/1      up       up      QSFP-DD Double Density         off
  Ethernet4      53,54,55,56     400G   9100     rs  hundredGigE1/2    down     down     N/A         off
     PORT    ACTION    DETECTION TIME    RESTORATION TIME
---------  --------  ----------------  ------------------
Ethernet0      drop               200                 200
Profile: AZURE_LOSSLESS
-----------------------  -------
ecn                      ecn_all
green_min_threshold      1048576
green_max_threshold      2097152
green_drop_probability   5
-----------------------  -------
";
    let report = report(text);
    assert!(report.findings.is_empty(), "{:?}", names(&report));
    let switch = &report.switches[0];
    let of = |what| {
        let own = switch.counters.iter().find(|one| one.what == what).unwrap();
        (own.place.as_str(), own.value)
    };
    assert_eq!(of("headroom_peak_bytes"), ("Ethernet120 priority group 3", 12_800));
    assert_eq!(of("shared_peak_bytes"), ("Ethernet120 priority group 3", 2_092_800));
    assert_eq!(of("queue_peak_bytes"), ("Ethernet4 queue 3", 2_097_408));
    assert_eq!(of("ecn_marked"), ("Ethernet4 queue 3", 5_120));
    let port = &switch.ports[0];
    assert_eq!(
        (port.is_up, port.rate_bps, port.mtu),
        (Some(true), Some(400_000_000_000), Some(9100))
    );
    assert_eq!(port.pfc_watchdog.as_deref(), Some("drop"));
    let profile = &switch.ecn_profiles[0];
    assert_eq!((profile.ecn.as_deref(), profile.min_bytes), (Some("ecn_all"), Some(1 << 20)));
    // Without its title, a table of priority groups may be of headroom or of drops.
    let untitled: String = text.lines().skip(1).take(3).map(|line| format!("{line}\n")).collect();
    assert!(super::report(&untitled).switches.is_empty());
    let asked = format!("admin@s1:~$ show priority-group watermark headroom\n{untitled}");
    assert_eq!(super::report(&asked).switches[0].counters[0].what, "headroom_peak_bytes");
}

#[test]
fn hosts_and_switch_must_agree_on_the_priority() {
    let host = "root@n1:~# mlnx_qos -i eth2\nPriority trust state: dscp\nPFC configuration:\n\
                \tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0\n";
    let switch = |priorities| {
        format!(
            "admin@leaf1:~$ show pfc priority\n\nInterface    Lossless priorities\n-----------  ---------------------\n\
             Ethernet0    {priorities}\nEthernet4    {priorities}\n"
        )
    };
    assert!(reports(&[host, &switch("3,4")]).findings.is_empty());
    assert_eq!(
        titles(&reports(&[host, &switch("4")]), "switch_pfc_differs"),
        ["PFC of hosts and switch differs: priority 3 on n1 eth2; leaf1 has priority 4 on 2 ports"]
    );
    assert_eq!(titles(&reports(&[host, &switch("N/A")]), "switch_pfc_differs").len(), 1);
}

#[test]
fn tables_of_eos() {
    let text = "\
leaf2#show interfaces counters queue detail | grep Egress
Egress Queue Counters
Port               Traffic   DropPrec   DestType        OutEnqPkts      OutEnqOctets       OutDropPkts     OutDropOctets
                    Class
Et3/1/1                TC3      DP0-3         UC             67521           7523778                 5               550
Et3/1/1                TC3      DP0-3         MC                 0                 0                 2               220
Et3/2/1                TC7      DP0-3         UC            711047          80623794                 0                 0
leaf2#show interfaces counters errors
Port               FCS    Align   Symbol       Rx    Runts   Giants       Tx
Et3/1/1              4        0        0        4        0        0        0
Et3/2/1              0        0        0        0        0        0        0
leaf2#show priority-flow-control counters
Port                 RxPfc      TxPfc
Et3/1/1             900123         15
Et3/2/1                  0          0
leaf2#show interfaces counters discards
Port             InDiscards      OutDiscards
Et3/1/1                   0                7
Et3/2/1                   0                0
---------   ---------------  ---------------
Totals                    0                7
";
    let report = report(text);
    assert_eq!(
        titles(&report, "switch_drops"),
        ["leaf2 Et3/1/1 queue 3 dropped 7 packets since its counters were cleared"]
    );
    assert_eq!(
        titles(&report, "switch_errors"),
        ["leaf2 Et3/1/1 received 4 packets with errors since its counters were cleared"]
    );
    assert!(
        titles(&report, "switch_paused")[0]
            .starts_with("leaf2 Et3/1/1 received 900,123 pause frames")
    );
    assert_eq!(report.switches.len(), 1);
}

#[test]
fn what_is_no_table_of_a_switch() {
    let text = "Port Rx: see below\nInterface eth0 is up\nIFACE STATE\nQUEUE is full\nProfile: default\nkey value\n\
                Port  A  B\nEthernet0 1 2\nPORT 8080\nIngress nginx created\n";
    let report = report(text);
    assert!(report.switches.is_empty() && report.inputs[0].read == 0);
}
