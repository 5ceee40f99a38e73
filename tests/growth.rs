//! How CPU time grows with each input: about linearly, so that nobody can stop an analysis with more of
//! something.

use std::time::Duration;

use railscope::config::Config;
use railscope::live::analyst::timed;
use railscope_core::decode::nccl::unique_id;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::call::{Action, Call, Caller, CommunicatorHandle, Returned};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{MESSAGE_CAPACITY, Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;

use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;
use crate::support::tap;

/// Sizes relative to the smallest.
const SIZES: [usize; 3] = [1, 4, 16];

/// Most of the exponent: `n log n` and noise of a busy machine. A quadratic part shows as 1.5 and more.
const MOST: f64 = 1.3;

/// Shorter times say nothing.
const SHORTEST: Duration = Duration::from_millis(4);

/// An input: its name, its smallest number, and what is done with it.
type Input = (&'static str, usize, fn(usize) -> Duration);

const INPUTS: [Input; 15] = [
    ("queue pairs with one packet", 1_000, |count| packets(count, |at| write(at, 0))),
    ("queue pairs with one CNP", 1_000, |count| packets(count, cnp)),
    ("hosts", 500, |count| packets(count, |at| write(at, at as u32))),
    ("TCP connections", 4_000, |count| packets(count, syn)),
    ("communicators that logs claim to have a million ranks", 240, |count| logs(count, 1, 1 << 20)),
    ("ranks that logs claim", 500, |count| logs(1, count, 1 << 16)),
    ("communicators of one process", 2_000, |count| calls(count, 1)),
    ("processes with a communicator", 1_500, |count| calls(1, count)),
    ("ports that a tool lists", 2_000, |count| outputs(count, port)),
    ("GIDs that a tool lists", 2_000, |count| outputs(count, gid)),
    ("NICs with counters", 2_000, |count| outputs(count, counters)),
    ("ports of a switch", 1_000, |count| outputs(count, switch_port)),
    ("runs of fi_info", 2_000, |count| outputs(count, provider)),
    ("hosts with outputs of tools", 2_000, |count| outputs(count, host)),
    ("unknown keys of settings", 5_000, settings),
];

#[test]
fn time_grows_linearly_with_every_input() {
    let mut table = String::from("input | 1x | 4x | 16x | exponent\n");
    let mut bad = Vec::new();
    for (name, least, work) in INPUTS {
        let mut exponent = f64::INFINITY;
        // Others use the machine, too: the best of three tries counts.
        for _ in 0..3 {
            let times = SIZES.map(|times| (0..2).map(|_| work(least * times)).min().unwrap());
            let [first, _, last] = times.map(|time| time.max(SHORTEST).as_secs_f64());
            exponent = exponent.min((last / first).ln() / 16_f64.ln());
            table += &format!("{name} | {times:?} | {exponent:.2}\n");
            if exponent <= MOST {
                break;
            }
        }
        if exponent > MOST {
            bad.push(name);
        }
    }
    println!("{table}");
    assert!(bad.is_empty(), "{bad:?}:\n{table}");
}

fn pipeline() -> Pipeline {
    let flow = FlowConfig { flow_capacity: 1 << 18, line_rate_bps: None, keeps_details: false };
    Pipeline::new(PipelineConfig { flow, message_capacity: Some(MESSAGE_CAPACITY as usize) })
}

fn finish(pipeline: Pipeline) {
    let report = pipeline.finish(ReportContext::default());
    assert!(!serde_json::to_string(&report).unwrap().is_empty());
}

fn packets(count: usize, packet: fn(usize) -> Vec<u8>) -> Duration {
    let packets: Vec<Vec<u8>> = (0..count).map(packet).collect();
    let all = || {
        let mut pipeline = pipeline();
        pipeline.add_tap(tap::ethernet("port0"));
        for (number, bytes) in (1..).zip(&packets) {
            pipeline.handle_frame(&Frame {
                tap: TapId(0),
                number,
                time: Timestamp::from_nanos(1_700_000_000_000_000_000 + number * 1_000),
                wire_len: bytes.len() as u32,
                bytes,
                link_type: LinkType::Ethernet,
                direction: None,
            });
        }
        finish(pipeline);
    };
    timed(all).1
}

fn write(at: usize, host: u32) -> Vec<u8> {
    let [_, a, b, c] = host.to_be_bytes();
    let roce = Roce { dest_qpn: at as u32 + 2, ..Roce::new(0x0a, 64) };
    let ip = Ipv4 { source: [10, a, b, c], ..Ipv4::default() };
    FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&roce).finish().bytes
}

fn cnp(at: usize) -> Vec<u8> {
    let roce = Roce { dest_qpn: at as u32 + 2, ..Roce::new(0x81, 16) };
    FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, 4791).roce(&roce).finish().bytes
}

fn syn(at: usize) -> Vec<u8> {
    let mut packet = write(0, 1);
    packet.truncate(14 + 20);
    // IPv4 with TCP inside, and its length.
    packet[14 + 9] = 6;
    packet[14 + 2..14 + 4].copy_from_slice(&40_u16.to_be_bytes());
    packet[14 + 12..14 + 16].copy_from_slice(&(0x0a00_0000 + (at as u32 >> 8)).to_be_bytes());
    packet.extend((1024 + (at as u16 & 0xff)).to_be_bytes());
    packet.extend(29_500_u16.to_be_bytes());
    packet.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0xff, 0xff, 0, 0, 0, 0]);
    packet
}

fn logs(communicators: usize, ranks: usize, nranks: u32) -> Duration {
    let line = |communicator: usize, rank: usize| {
        format!(
            "host{rank}:{pid}:{pid} [0] NCCL INFO ncclCommInitRank comm 0x{communicator:x}000 rank {rank} nranks \
             {nranks} cudaDev 0 nvmlDev 0 busId 1b000 commId 0x{:x} - Init START",
            communicator + 0x1000,
            pid = 1000 + rank,
        )
    };
    let lines = (0..communicators).flat_map(|one| (0..ranks).map(move |rank| (one, rank)));
    let lines: Vec<String> = lines.map(|(one, rank)| line(one, rank)).collect();
    let all = || {
        let mut pipeline = pipeline();
        let log = pipeline.add_log("nccl.log");
        for (number, line) in (1..).zip(&lines) {
            assert!(pipeline.handle_log_line(log, number, line.as_bytes()));
        }
        finish(pipeline);
    };
    timed(all).1
}

fn calls(communicators: usize, processes: usize) -> Duration {
    let time = Timestamp::from_nanos(1_700_000_000_000_000_000);
    let all = || {
        let mut pipeline = pipeline();
        for process in 0..processes as u32 {
            for one in 0..communicators as u64 {
                let id = unique_id::from_magic(one + 1, "192.0.2.1:9".parse().unwrap());
                let communicator = Some(CommunicatorHandle(one + 1));
                let pid = 1000 + process;
                let payer = u64::from(process % 64);
                let action = Action::Initialise {
                    nranks: 1 << 16,
                    rank: process,
                    id: Some(id),
                    ids: 1,
                    communicator,
                };
                let returned = Some(Returned { time, is_success: true, code: Some(0) });
                let caller = Caller { pid, tid: pid, cgroup: 0, payer };
                pipeline.processes_mut().observe(&Call { caller, time, returned, action });
            }
        }
        finish(pipeline);
    };
    timed(all).1
}

fn settings(count: usize) -> Duration {
    let keys: String = (0..count).map(|key| format!("unknown{key} = 1\n")).collect();
    let text = format!("[window]\n{keys}");
    timed(|| assert!(Config::read(&text, &[], [].into_iter()).is_err())).1
}

/// Outputs of tools, one line each, as one text.
fn outputs(count: usize, line: fn(usize) -> String) -> Duration {
    let text: String = (0..count).map(line).collect();
    timed(|| {
        let mut pipeline = pipeline();
        let log = pipeline.add_log("paste.txt");
        for (number, line) in (1..).zip(text.lines()) {
            pipeline.handle_log_line(log, number, line.as_bytes());
        }
        finish(pipeline);
    })
    .1
}

fn port(at: usize) -> String {
    format!("mlx5_{at} port 1 ==> eth{at} (Down)\n")
}

fn gid(at: usize) -> String {
    let head = "DEV PORT INDEX GID IPv4 VER DEV\n";
    format!("{head}mlx5_{at} 1 1 fe80:0000:0000:0000:0000:00ff:fe00:0001 v2 eth{at}\n")
}

fn counters(at: usize) -> String {
    format!("link mlx5_{at}/1 packet_seq_err 7\n")
}

fn switch_port(at: usize) -> String {
    format!(
        "Port InDiscards OutDiscards\nEthernet{at} 5 7\nPort FCS Align Symbol Rx Runts Giants Tx\nEthernet{at} 1 0 0 1 0 0 0\n"
    )
}

fn provider(at: usize) -> String {
    format!("provider: efa\n    domain: rdmap{at}s0-rdm\n    type: FI_EP_RDM\nfi_getinfo: -61\n")
}

fn host(at: usize) -> String {
    format!("n{at}: link mlx5_0/1 state DOWN physical_state DISABLED netdev eth0\n")
}
