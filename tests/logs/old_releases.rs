//! Logs of releases that print no id of a communicator, and of RCCL.

use railscope_core::decode::nccl_log::entry::{Level, Origin};
use railscope_core::decode::nccl_log::message::Message;
use railscope_core::decode::nccl_log::{clean, entries};
use railscope_core::model::nccl::Release;

use super::facts;

fn lines(text: &str) -> Vec<&[u8]> {
    text.lines().map(str::as_bytes).collect()
}

#[test]
fn nccl_2_2_does_not_name_itself() {
    let text = "n1:100:101 [0] INFO Using internal Network Socket";
    let cleaned = clean(text.as_bytes());
    let found: Vec<_> = entries(&cleaned).collect();
    let [entry] = found.as_slice() else { panic!("{found:?}") };
    let origin = Origin { host: "n1", pid: 100, tid: 101, device: Some(0) };
    assert_eq!((entry.origin, entry.level), (Some(origin), Level::Info));
    assert_eq!(entry.message, Message::Network("Socket"));
    let warning = "n1:100:101 [0] include/socket.h:360 WARN Call to connect failed : refused";
    assert_eq!(entries(warning).next().map(|entry| entry.level), Some(Level::Warn));
    for other in [
        "2026-01-01 10:00:00,123 [0] INFO something else",
        "n1:100:101 INFO no device",
        "[12:00:01] INFO worker 3 joined",
        "10:00:00 [0] INFO a time is no origin, although it has colons",
    ] {
        assert_eq!(entries(other).count(), 0, "{other}");
    }
}

#[test]
fn rccl_names_its_release() {
    for (text, release) in [
        ("RCCL version : 2.21.5-HEAD:abcdef0", Release::new(2, 21, 5)),
        ("RCCL version 2.18.3+hip6.0 HEAD:abcdef0+", Release::new(2, 18, 3)),
        ("NCCL version 2.5.6+cuda10.0", Release::new(2, 5, 6)),
    ] {
        let found: Vec<_> = entries(text).map(|entry| entry.message).collect();
        assert_eq!(found, [Message::Release(release)], "{text}");
    }
}

/// Two communicators of eight ranks over two hosts, then two of four within a host, as 2.7 prints them.
fn job_without_ids() -> String {
    let mut text = String::from("NCCL version 2.7.8+cuda11.0\n");
    let gpu = |rank: u32| format!("{:x}", 0x1a000 + (rank % 4) * 0x1000);
    for round in 0..2 {
        for rank in 0..8_u32 {
            let host = rank / 4 + 1;
            let at = format!("n{host}:{}:{} [{}] NCCL INFO", 100 + rank, 500 + round, rank % 4);
            let next = (rank + 1) % 8;
            let via = if next / 4 == rank / 4 { "P2P/IPC" } else { "NET/IB/0" };
            let end = if via == "P2P/IPC" { "" } else { " [send]" };
            text += &format!("{at} Trees [0] -1/-1/-1->{rank}->-1|-1->{rank}->-1/-1/-1\n");
            text += &format!(
                "{at} Channel 00 : {rank}[{}] -> {next}[{}]{end} via {via}\n",
                gpu(rank),
                gpu(next)
            );
        }
        for rank in 0..8_u32 {
            let host = rank / 4 + 1;
            text += &format!(
                "n{host}:{}:{} [{}] NCCL INFO comm 0x{round}1 rank {rank} nranks 8 cudaDev {} busId \
                 {} - Init COMPLETE\n",
                100 + rank,
                500 + round,
                rank % 4,
                rank % 4,
                gpu(rank)
            );
        }
    }
    // Both hosts at once, in mixed order.
    for rank in [4_u32, 0, 5, 1, 6, 2, 7, 3] {
        let host = rank / 4 + 1;
        let own = rank % 4;
        let at = format!("n{host}:{}:600 [{own}] NCCL INFO", 100 + rank);
        text += &format!("{at} Trees [0] -1/-1/-1->{own}->-1|-1->{own}->-1/-1/-1\n");
        let next = (own + 1) % 4;
        text += &format!(
            "{at} Channel 00 : {own}[{}] -> {next}[{}] via P2P/IPC\n",
            gpu(own),
            gpu(next)
        );
        text += &format!(
            "{at} comm 0x91 rank {own} nranks 4 cudaDev {own} busId {} - Init COMPLETE\n",
            gpu(own)
        );
    }
    text
}

#[test]
fn ranks_without_an_id_are_one_communicator() {
    let text = job_without_ids();
    let job = facts(lines(&text)).link().job;
    let mut sizes: Vec<(Option<u32>, usize)> =
        job.communicators.iter().map(|one| (one.nranks, one.ranks.len())).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [(Some(4), 4), (Some(4), 4), (Some(8), 8), (Some(8), 8)]);
    for small in job.communicators.iter().filter(|one| one.nranks == Some(4)) {
        let hosts: Vec<_> = small.ranks.iter().filter_map(|rank| rank.host.as_deref()).collect();
        assert!(hosts.windows(2).all(|pair| pair[0] == pair[1]), "{hosts:?}");
    }
}

#[test]
fn the_network_of_a_process_that_does_not_name_it() {
    let network = |text: &str| {
        let facts = facts(lines(text));
        facts.processes[0].networks.chosen().map(str::to_owned)
    };
    let socket = "n1:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n";
    let ib = "n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>\n";
    let plugin = "n1:1:1 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so).\n";
    let none = "n1:1:1 [0] NCCL INFO NET/IB : No device found.\n";
    let disabled = "n1:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n";
    assert_eq!(network(socket), None);
    assert_eq!(network(&[socket, plugin].concat()).as_deref(), Some("Socket"));
    assert_eq!(network(&[socket, plugin, ib].concat()).as_deref(), Some("IB"));
    assert_eq!(network(&[socket, none].concat()).as_deref(), Some("Socket"));
    assert_eq!(network(&[disabled, socket].concat()).as_deref(), Some("Socket"));
    let edge = "n1:1:1 [0] NCCL INFO Ring 00 : 1 -> 0 [receive] via NET/Socket/0\n";
    assert_eq!(network(&[ib, edge].concat()).as_deref(), Some("Socket"));
}

#[test]
fn known_lines_are_not_unknown() {
    let text = "n1:1:1 [0] NCCL INFO init.cc:1732 Cuda Host Alloc Size 4 pointer 0x7f\n\
                n1:1:1 [0] NCCL INFO Mem Realloc old size 0, new size 8 pointer 0x5\n\
                n1:1:1 [0] NCCL INFO transport/net.cc:357 -> 2\n\
                n1:1:1 [0] NCCL INFO Launch mode Parallel\n\
                n1:1:1 [0] NCCL INFO [node_id = 4; gpu_id = 1; unique_id = 2; location_id = 3]\n\
                n1:1:1 [0] NCCL INFO bootstrapSplit: comm 0x1 parent 0x2 rank 0 nranks 4 - DONE\n\
                n1:1:1 [0] NCCL INFO proxyProgressAsync opId=0x7f op.type=1 done\n\
                n1:1:1 [0] NCCL INFO a line of a release that is yet to come\n";
    let facts = facts(lines(text));
    let unknown: Vec<&String> = facts.unparsed.keys().collect();
    assert_eq!(unknown, ["a line of"]);
    let call = facts.processes[0].failed_call.as_ref().unwrap();
    assert_eq!(
        (call.place.as_str(), call.error.as_str()),
        ("transport/net.cc:357", "unhandled system error")
    );
}
