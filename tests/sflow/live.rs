//! Datagrams that switches send to railscope itself, over real UDP.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use railscope::ingest::live::{LiveEvent, LiveSource};
use railscope::ingest::sflow_socket::{SflowSocket, SflowSocketError};
use railscope_testbed::clock::eventually;

use super::{drawn, roce};
use crate::support::railscope::PROGRAM;
use crate::support::sflow::{datagram, datagram_of, flow_sample};

/// A UDP port of this host that is free.
pub(crate) fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Eight marked packets from host 1 to host 2.
pub(crate) fn samples(number: u32) -> Vec<Vec<u8>> {
    let header = roce(1, 2, 0x11, true);
    let sample = |at| flow_sample(&drawn(8 * number + at, &header, header.len()), at % 2 == 0);
    (0..8).map(sample).collect()
}

/// What a socket delivers until nothing comes any more: lengths of frames, and datagrams lost.
fn delivered(socket: &mut SflowSocket) -> (Vec<usize>, u64) {
    let (mut frames, mut lost) = (Vec::new(), 0);
    loop {
        let before = frames.len();
        let take = &mut |event: LiveEvent<'_>| match event {
            LiveEvent::Frame(frame) => frames.push(frame.bytes.len()),
            LiveEvent::Lost { frames, .. } => lost += frames,
            _ => {}
        };
        socket.poll(Duration::from_millis(200), take).unwrap();
        if frames.len() == before {
            return (frames, lost);
        }
    }
}

#[test]
fn each_datagram_is_a_frame_with_headers() {
    for (address, headers) in [("127.0.0.1:0", 28), ("[::1]:0", 48), ("[::]:0", 28)] {
        let Ok(mut socket) = SflowSocket::open(address.parse().unwrap()) else {
            assert!(address.starts_with('['), "{address}");
            continue;
        };
        let here = if address.contains("::1") { "[::1]:0" } else { "127.0.0.1:0" };
        let sender = UdpSocket::bind(here).unwrap();
        let to = SocketAddr::new(sender.local_addr().unwrap().ip(), socket.address().port());
        for len in [0, 5, 1400, 65_507] {
            sender.send_to(&vec![7; len], to).unwrap();
        }
        let (frames, lost) = delivered(&mut socket);
        assert_eq!(frames, [0, 5, 1400, 65_507].map(|len| headers + len), "{address}");
        assert_eq!(lost, 0);
    }
}

#[test]
fn datagrams_beyond_the_queue_are_counted() {
    let mut socket = SflowSocket::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let all = 60_000;
    for number in 0..all {
        sender.send_to(&datagram(number, 1, &[]), socket.address()).unwrap();
        if number % 1000 == 0 {
            sender.send_to(&[0; 60_000], socket.address()).unwrap();
        }
    }
    let (frames, _) = delivered(&mut socket);
    // What was lost is known with the next one.
    sender.send_to(&[1], socket.address()).unwrap();
    let (last, lost) = delivered(&mut socket);
    assert_eq!(last.len(), 1);
    let sent = u64::from(all) + 60;
    assert!(lost > 0 && frames.len() as u64 <= sent, "{lost} of {sent}");
}

#[test]
fn a_port_that_is_taken_is_an_error_with_a_remedy() {
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let error = SflowSocket::open(address).unwrap_err();
    assert!(matches!(error, SflowSocketError::Taken(_)), "{error:?}");
    assert!(error.to_string().contains("another program listens there"), "{error}");
}

#[test]
fn watch_prints_a_line_for_each_switch() {
    let address = format!("127.0.0.1:{}", free_port());
    let mut watch = Command::new(PROGRAM)
        .args(["watch", "--every", "100ms", &format!("--sflow={address}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let out = BufReader::new(watch.stdout.take().unwrap());
    // The first report may have one of them, the next one has both.
    let lines = std::thread::spawn(move || {
        let mut lines: Vec<String> = Vec::new();
        for line in out.lines().map_while(Result::ok) {
            lines.push(line);
            if ["10.255.0.1:", "10.255.0.2:"]
                .iter()
                .all(|of| lines.iter().any(|line| line.contains(of)))
            {
                break;
            }
        }
        lines
    });
    let mut number = 0;
    eventually("a line of each", || {
        number += 1;
        let samples = samples(number);
        let datagrams = [1, 2].map(|agent| datagram_of([10, 255, 0, agent], number, 1, &samples));
        // Nobody may listen yet.
        datagrams.iter().for_each(|bytes| _ = sender.send_to(bytes, &address));
        lines.is_finished()
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    let lines = lines.join().unwrap();
    for agent in ["10.255.0.1", "10.255.0.2"] {
        let line =
            lines.iter().find(|line| line.contains(agent)).unwrap_or_else(|| panic!("{lines:?}"));
        assert!(line.contains("RoCE: ") && line.contains("CE marks 100 %"), "{line}");
    }
}
