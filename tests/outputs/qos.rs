//! Quality of service of switches: SONiC's configuration and maps, Cumulus NVUE and Arista EOS, and whether
//! they agree with hosts.

use std::fmt::Write;

use railscope_core::report::Report;
use railscope_core::report::switches::SwitchReport;

use super::{names, report, reports, title, titles};

/// A host with PFC on priority 3, which DSCPs 24 to 31 choose, as mlx5 has them.
fn host(pfc: &str) -> String {
    let mut text = "root@n1:~# mlnx_qos -i eth2\nDCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n".to_owned();
    for priority in 0..8_u32 {
        let dscps: Vec<String> = (0..8).map(|low| (priority * 8 + low).to_string()).collect();
        writeln!(text, "\tprio:{priority} dscp:{},", dscps.join(",")).unwrap();
    }
    text + "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     "
        + pfc
        + "\n"
}

const PFC_3: &str = "0   0   0   1   0   0   0   0";

fn switch_of(text: &str) -> SwitchReport {
    let report = report(text);
    assert_eq!(report.switches.len(), 1, "{:?}", report.inputs);
    report.switches[0].clone()
}

fn pairs(switch: &SwitchReport, kind: &str) -> Vec<(u8, u8)> {
    let map = switch.qos_maps.iter().find(|map| map.kind == kind);
    map.unwrap_or_else(|| panic!("{kind}: {:?}", switch.qos_maps)).pairs.clone()
}

/// `config_db.json` of SONiC with what its QoS needs; `dscp` goes to class 3, all others to 0.
fn config_db(dscp: u8, pfc: &str, ecn_queue: u8) -> String {
    let others: Vec<String> = (0..64)
        .filter(|other| *other != dscp)
        .map(|other| format!("            \"{other}\": \"0\""))
        .collect();
    format!(
        "{{\n    \"DEVICE_METADATA\": {{\n        \"localhost\": {{\n            \"hostname\": \"tor7\"\n        }}\n    }},\n\
         \x20   \"DSCP_TO_TC_MAP\": {{\n        \"FABRIC\": {{\n            \"{dscp}\": \"3\",\n{}\n        }}\n    }},\n\
         \x20   \"MAP_PFC_PRIORITY_TO_QUEUE\": {{\n        \"FABRIC\": {{\n            \"3\": \"3\",\n            \"4\": \"4\"\n        }}\n    }},\n\
         \x20   \"TC_TO_PRIORITY_GROUP_MAP\": {{\n        \"FABRIC\": {{\n            \"0\": \"0\",\n            \"3\": \"3\"\n        }}\n    }},\n\
         \x20   \"PORT_QOS_MAP\": {{\n        \"Ethernet0,Ethernet8\": {{\n            \"dscp_to_tc_map\": \"[DSCP_TO_TC_MAP|FABRIC]\",\n            \"pfc_enable\": \"{pfc}\"\n        }}\n    }},\n\
         \x20   \"QUEUE\": {{\n        \"Ethernet0|0-2\": {{\n            \"scheduler\": \"scheduler.0\"\n        }},\n        \"Ethernet0|3\": {{\n            \"scheduler\": \"scheduler.1\"{}\n        }},\n        \"Ethernet0|5\": {{\n            \"scheduler\": \"scheduler.1\"{}\n        }}\n    }},\n\
         \x20   \"WRED_PROFILE\": {{\n        \"MARK\": {{\n            \"ecn\": \"ecn_all\",\n            \"green_min_threshold\": \"150000\",\n            \"green_max_threshold\": \"1500000\"\n        }}\n    }}\n}}\n",
        others.join(",\n"),
        if ecn_queue == 3 { ",\n            \"wred_profile\": \"MARK\"" } else { "" },
        if ecn_queue == 5 { ",\n            \"wred_profile\": \"MARK\"" } else { "" },
    )
}

#[test]
fn config_db_of_sonic() {
    let switch = switch_of(&config_db(26, "3", 3));
    assert_eq!(pairs(&switch, "dscp_to_class").iter().filter(|(_, class)| *class == 3).count(), 1);
    assert_eq!(pairs(&switch, "pfc_priority_to_queue"), [(3, 3), (4, 4)]);
    assert_eq!(switch.ports.len(), 2);
    assert_eq!(switch.ports[1].pfc_priorities, Some(vec![3]));
    assert_eq!(switch.ecn_profiles[0].min_bytes, Some(150_000));
    // One table is enough, and the whole document may be one line.
    let part: String =
        config_db(26, "3", 3).lines().skip(6).take(68).map(|line| format!("{line}\n")).collect();
    assert_eq!(pairs(&switch_of(&part), "dscp_to_class").len(), 64);
    let one_line: String = config_db(26, "3", 3).lines().map(str::trim).collect();
    assert_eq!(switch_of(&one_line).ports.len(), 2);
    // What is cut within a table is not guessed.
    let cut = &part[..part.len() / 2];
    assert!(report(cut).switches.is_empty());
}

/// Findings about hosts and switch.
fn differences(report: &Report) -> Vec<&str> {
    names(report).into_iter().filter(|name| name.starts_with("switch_")).collect()
}

#[test]
fn hosts_and_sonic_agree_or_not() {
    let of = |switch: &str| reports(&[&host(PFC_3), switch]);
    assert!(differences(&of(&config_db(26, "3", 3))).is_empty());
    let other = of(&config_db(3, "3", 3));
    assert_eq!(differences(&other), ["switch_dscp_differs"]);
    assert_eq!(
        titles(&other, "switch_dscp_differs"),
        [
            "DSCPs of hosts and switch differ: n1 eth2 puts DSCPs 24 to 31 in priority 3, the switch in priority 0 and \
          DSCP 3 in priority 3"
        ]
    );
    let finding = &other.findings[0];
    assert_eq!((finding.severity, finding.evidence.len()), ("warning", 2));
    let ecn = of(&config_db(26, "3", 5));
    assert_eq!(
        titles(&ecn, "switch_ecn_differs"),
        [
            "the switch marks no packet with ECN in queue 3, where lossless priority 3 leaves; it marks queue 5"
        ]
    );
    let none = of(&config_db(26, "3", 9));
    assert_eq!(none.findings[0].severity, "info");
    assert_eq!(differences(&of(&config_db(26, "4", 3))), ["switch_pfc_differs"]);
    // Hosts without PFC, by PCP, or without a list of DSCPs say nothing of DSCPs.
    let quiet = |host: String| {
        let report = reports(&[&host, &config_db(3, "3", 3)]);
        titles(&report, "switch_dscp_differs").is_empty()
    };
    assert!(quiet(host("0   0   0   0   0   0   0   0")));
    assert!(quiet(host(PFC_3).replace("state: dscp", "state: pcp")));
    let lines = host(PFC_3);
    let unlisted: String = lines
        .lines()
        .filter(|line| !line.contains("prio:"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(quiet(unlisted));
}

#[test]
fn maps_of_enterprise_sonic_and_edgecore() {
    let text = "\
sonic# show qos map dscp-tc
DSCP-TC-MAP: FABRIC
----------------------------
    DSCP TC
----------------------------
    0-23,32-47   0
    24-31        3
----------------------------
TC-PG-MAP: FABRIC
----------------------------
    TC   PG
----------------------------
    3    3
----------------------------
";
    let switch = switch_of(text);
    assert_eq!(switch.host.as_deref(), Some("sonic"));
    assert_eq!(pairs(&switch, "dscp_to_class").len(), 48);
    assert_eq!(pairs(&switch, "class_to_priority_group"), [(3, 3)]);
    let edge = "dscp-tc policy: FABRIC\nDSCP         TC\n-----------  ----\n0 1 2 3      0\n26 27        3\n\n\
                tc-queue policy: FABRIC\n  TC  Queue\n----  -------\n   3  3\n";
    let edge = switch_of(edge);
    assert_eq!(pairs(&edge, "dscp_to_class")[4..], [(26, 3), (27, 3)]);
    assert_eq!(pairs(&edge, "class_to_queue"), [(3, 3)]);
}

/// `nv show qos roce` of Cumulus Linux 5.4 and later.
fn nvue(priority: u8, ecn: &str, dscps: &str) -> String {
    format!(
        "cumulus@leaf3:mgmt:~$ nv show qos roce\n\
         \x20                   operational  applied   description\n------------------  -----------  --------  -----------\n\
         enable                           on\nmode                lossless     lossless\ncongestion-control\n\
         \x20 congestion-mode   ECN\n  enabled-tc        {ecn}\n  max-threshold     1.43 MB\nlldp-app-tlv\n  priority          3\n\
         pfc\n  pfc-priority      {priority}\n  rx-enabled        enabled\n  tx-enabled        enabled\ntrust\n  trust-mode        pcp,dscp\n\n\
         RoCE PCP/DSCP->SP mapping configurations\n===========================================\n\
         \x20      pcp  dscp          switch-prio\n    -  ---  ------------  -----------\n    0  0    0,1,2,3       0\n    1  3    {dscps}  {priority}\n\n\
         RoCE SP->TC mapping and ETS configurations\n=============================================\n\
         \x20      switch-prio  traffic-class  scheduler-weight\n    -  -----------  -------------  ----------------\n\
         \x20   0  0            0              DWRR-50%\n    1  {priority}            {priority}              DWRR-50%\n    2  6            6              strict priority\n"
    )
}

#[test]
fn roce_of_cumulus() {
    let switch = switch_of(&nvue(3, "0,3", "24,25,26"));
    assert_eq!(switch.host.as_deref(), Some("leaf3"));
    let settings = &switch.qos_settings[0];
    assert_eq!(settings.pfc_priorities, Some(vec![3]));
    assert_eq!(settings.ecn_queues, Some(vec![0, 3]));
    assert_eq!(settings.trust, Some("both"));
    assert_eq!(pairs(&switch, "dscp_to_class")[4..], [(24, 3), (25, 3), (26, 3)]);
    assert_eq!(pairs(&switch, "class_to_queue"), [(0, 0), (3, 3), (6, 6)]);
    let of = |switch: &str| {
        let report = reports(&[&host(PFC_3), switch]);
        differences(&report).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert!(of(&nvue(3, "0,3", "24,25,26")).is_empty());
    assert_eq!(of(&nvue(3, "0,3", "40,41,42")), ["switch_dscp_differs"]);
    assert_eq!(of(&nvue(3, "0,5", "24,25,26")), ["switch_ecn_differs"]);
    // Where the switch puts DSCPs 27 to 31 is not known.
    assert_eq!(of(&nvue(5, "0,5", "24,25,26")), ["switch_pfc_differs"]);
    // Without the tables, nothing is known of DSCPs and queues.
    let short: String =
        nvue(3, "0,5", "40").lines().take(17).map(|line| format!("{line}\n")).collect();
    assert!(of(&short).is_empty());
    assert_eq!(of(&short.replace("pcp,dscp", "pcp")), ["switch_dscp_differs"]);
}

#[test]
fn older_tables_and_counters_of_cumulus() {
    // Before 5.4, rows had names.
    let status = "cumulus@leaf3:~$ nv show interface swp16 qos roce status\n\
                  \x20                   operational    applied  description\n------------------  -------------  -------  -----------\n\
                  congestion-control\n  congestion-mode   ecn, absolute           Congestion config mode\n  enabled-tc        0,3                     Enabled\n\
                  pfc\n  pfc-priority      3                       PFC\n  rx-enabled        yes                     PFC Rx\n\n\
                  RoCE PCP/DSCP->SP mapping configurations\n===========================================\n\
                  \x20         pcp  dscp  switch-prio\n    ----  ---  ----  -----------\n    cnp   6    48    6\n    roce  3    26    3\n";
    let switch = switch_of(status);
    assert_eq!(switch.qos_settings[0].name.as_deref(), Some("swp16"));
    assert_eq!(pairs(&switch, "dscp_to_class"), [(26, 3), (48, 6)]);
    let counters = |paused: u32| {
        format!(
            "cumulus@leaf3:~$ nv show interface swp16 counters qos\nEgress Queue Statistics\n==========================\n\
             \x20   traffic-class  tx-frames  tx-bytes  tx-uc-buffer-discards  wred-discards  ecn-marked-frames\n\
             \x20   -------------  ---------  --------  ---------------------  -------------  -----------------\n\
             \x20   0              10         5.20 KB   0 Bytes                0              0\n\
             \x20   3              90210      3.80 MB   0 Bytes                0              1200\n\n\
             PFC Statistics\n=================\n\
             \x20   switch-priority  rx-pause-frames  rx-pause-duration  tx-pause-frames  tx-pause-duration\n\
             \x20   ---------------  ---------------  -----------------  ---------------  -----------------\n\
             \x20   0                0                0 Bytes            0                0 Bytes\n\
             \x20   3                {paused}             36.0 KB            4                0 Bytes\n"
        )
    };
    assert_eq!(
        title(&counters(92_144), "switch_paused"),
        "leaf3 swp16 priority 3 received 92,144 pause frames and sent 4 since its counters were cleared"
    );
    let switch = switch_of(&counters(7));
    let marked = switch.counters.iter().find(|one| one.what == "ecn_marked").unwrap();
    assert_eq!((marked.place.as_str(), marked.value), ("swp16 queue 3", 1_200));
    let watchdog = "cumulus@leaf3:~$ nv show interface swp1 qos pfc-watchdog\nPFC WD Status\n===========================\n\
                    \x20   traffic-class  status    deadlock-count\n    -------------  --------  --------------\n\n\
                    \x20   2              OK        0\n    3              DEADLOCK  2\n";
    assert!(title(watchdog, "pfc_watchdog").contains("leaf3 swp1 queue 3 is in a storm now"));
}

#[test]
fn commands_of_cumulus() {
    let text = "nv set interface swp1-8 link state up\nnv set qos mapping default-global trust both\n\
                nv set qos mapping default-global dscp 26,30-31 switch-priority 4\nnv set qos egress-queue-mapping default-global switch-priority 4 traffic-class 3\n\
                nv set qos pfc default-global switch-priority 4\nnv set qos congestion-control default-global traffic-class 3 ecn enable\n\
                nv set system hostname leaf3\n";
    let switch = switch_of(text);
    assert_eq!(pairs(&switch, "dscp_to_class"), [(26, 4), (30, 4), (31, 4)]);
    assert_eq!(pairs(&switch, "class_to_queue"), [(4, 3)]);
    let settings = &switch.qos_settings[0];
    assert_eq!(
        (settings.pfc_priorities.clone(), settings.ecn_queues.clone()),
        (Some(vec![4]), Some(vec![3]))
    );
    let report = reports(&[&host(PFC_3), text]);
    assert_eq!(differences(&report), ["switch_pfc_differs"]);
}

/// `show qos maps` of EOS: the DSCPs of one ten go to a class, all others to 1.
fn eos_maps(ten: u8, class: u8) -> String {
    let mut text = "leaf4#show qos maps\n   Number of Traffic Classes supported: 8\n   Number of Transmit Queues supported: 8\n\n\
                    \x20  Dscp-tc map:\n     d1 :  d2 0  1  2  3  4  5  6  7  8  9\n     --------------------------------------\n"
        .to_owned();
    for tens in 0..7_u8 {
        let class = if tens == ten { class } else { 1 };
        let row = vec![class.to_string(); if tens == 6 { 4 } else { 10 }];
        writeln!(text, "      {tens} :     {}", row.join("  ")).unwrap();
    }
    text + "\n   Tc - tx-queue map:\n     tc:        0 1 2 3 4 5 6 7\n     ---------------------------------\n     tx-queue:  0 1 2 3 4 5 6 7\n"
}

#[test]
fn maps_and_settings_of_eos() {
    let switch = switch_of(&eos_maps(2, 3));
    let map = pairs(&switch, "dscp_to_class");
    assert_eq!((map.len(), map[26]), (64, (26, 3)));
    assert_eq!(pairs(&switch, "class_to_queue").len(), 8);
    let status = "leaf4#show priority-flow-control status\nThe hardware supports PFC on priorities 0 1 2 3 4 5 6 7\n\n\
                  E: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled\n\
                  Port  Status  Priorities  Action      Timeout  Recovery   Polling        Note\n\
                  \x20                                           Interval  Config/Oper\n\
                  ---------------------------------------------------------------------------\n\
                  Et1/1   E A W   3       drop        -        - / -      - / -\nEt2/1   D - -           -           -        - / -      - / -          DCBX disabled\n";
    let ports = switch_of(status).ports;
    assert_eq!(ports[0].pfc_priorities, Some(vec![3]));
    assert_eq!(ports[1].pfc_priorities, Some(Vec::new()));
    let profile = |queue: u8| {
        format!(
            "leaf4#show qos profile ROCE\nqos profile ROCE\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   !\n\
             \x20  uc-tx-queue {queue}\n      bandwidth percent 60\n      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 2048 kbytes max-mark-probability 80 weight 0\n"
        )
    };
    let settings = switch_of(&profile(3)).qos_settings[0].clone();
    assert_eq!((settings.name.as_deref(), settings.trust), (Some("ROCE"), Some("dscp")));
    assert_eq!((settings.pfc_priorities, settings.ecn_queues), (Some(vec![3]), Some(vec![3])));
    let of = |switch: &str| {
        let report = reports(&[&host(PFC_3), switch]);
        differences(&report).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert!(of(&[eos_maps(2, 3), profile(3), status.to_owned()].concat()).is_empty());
    assert_eq!(of(&[eos_maps(4, 3), profile(3)].concat()), ["switch_dscp_differs"]);
    assert_eq!(of(&[eos_maps(2, 3), profile(5)].concat()), ["switch_ecn_differs"]);
    assert!(of(&profile(5)).is_empty(), "which queue class 3 leaves from is not known");
    let running = "qos map dscp 24 25 26 27 to traffic-class 3\nqos map traffic-class 3 to dscp 26\nqos map traffic-class 3 to tx-queue 3\n!\n";
    let switch = switch_of(running);
    assert_eq!(pairs(&switch, "dscp_to_class").len(), 4);
    assert_eq!(switch.qos_maps.len(), 2);
}

#[test]
fn rates_of_eos() {
    let text = "leaf4#show interfaces counters rates\n\
                Port      Name          Intvl   In Mbps      %  In Kpps  Out Mbps      % Out Kpps\n\
                Et1/1     gpu 7 rail 0   0:05  312000.5  78.0%     9000   1200.0   0.3%      120\n\
                Et2/1                    0:05       0.0   0.0%        0      0.0   0.0%        0\n";
    let switch = switch_of(text);
    let rates: Vec<(&str, &str, u64)> =
        switch.counters.iter().map(|one| (one.place.as_str(), one.what, one.value)).collect();
    assert_eq!(
        rates,
        [("Et1/1", "receive_bps", 312_000_500_000), ("Et1/1", "send_bps", 1_200_000_000)]
    );
    assert!(report(text).findings.is_empty());
}

#[test]
fn what_is_no_quality_of_service() {
    for text in [
        "operational applied\nkey value\n",
        "\"QUEUE\": {\n\"a\": 1\n}\n",
        "qos profile is not set here at all\n",
        "nv set qos \n",
        "pcp dscp switch-prio\nno row\n",
        "DSCP-TC-MAP: a b\n0 1\n",
        "Dscp-tc map:\n 9 : 1\n",
        "switch-priority rx-pause-frames\nx y\n",
        "Port Status Priorities\nEt1 Q A\n",
        "{\"a\": \"_TO_TC_MAP\\\"\"}\n",
    ] {
        let report = report(text);
        assert!(report.switches.is_empty(), "{text}: {:?}", report.switches);
        assert!(report.findings.is_empty());
    }
}
