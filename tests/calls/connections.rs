//! TCP connections with their processes.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use railscope::ingest::probe::{ProbeConfig, ProbeEvent, Probes};
use railscope_core::model::connection::{ConnectionChange, TcpState};

use crate::support::require;

#[test]
fn a_connection_over_both_families() {
    if !require::root("a_connection_over_both_families") {
        return;
    }
    let config = ProbeConfig {
        calls: false,
        connections: true,
        proc: "/proc".into(),
        ring_mebibytes: 1,
        logs: false,
    };
    let mut probes = Probes::open(&config).unwrap();
    for loopback in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(loopback).unwrap();
        let server = listener.local_addr().unwrap();
        let client = {
            let near = TcpStream::connect(server).unwrap();
            let (far, _) = listener.accept().unwrap();
            let address = near.local_addr().unwrap();
            // The client closes first.
            drop(near);
            drop(far);
            address
        };
        drop(listener);
        std::thread::sleep(Duration::from_millis(50));
        let mut changes: Vec<ConnectionChange> = Vec::new();
        let mut take = |event| match event {
            ProbeEvent::Connection(change) => changes.push(change),
            other => panic!("{other:?}"),
        };
        probes.poll(false, &mut take).unwrap();

        // The kernel reports the whole machine: other network namespaces may use the same address,
        // and other processes get the memory, and so the id, of a closed socket.
        let is_ours = |change: &&ConnectionChange| {
            change.owner.as_ref().is_some_and(|owner| owner.pid == std::process::id())
        };
        let of = |local: SocketAddr| {
            let mut ours = changes.iter().filter(is_ours);
            let socket = ours.find(|change| change.local == local).unwrap().socket;
            changes.iter().filter(is_ours).filter(move |change| change.socket == socket)
        };
        let states = |local| of(local).map(|change| (change.before, change.after)).collect();
        let client_states: Vec<_> = states(client);
        use TcpState::{Close, Established, Listen, SynReceived, SynSent};
        assert!(client_states.starts_with(&[(Close, SynSent), (SynSent, Established)]));
        let server_states: Vec<_> = states(server);
        assert_eq!(server_states, [(Close, Listen), (Listen, Close)]);
        for change in of(client).chain(of(server)) {
            let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
            assert_eq!(change.owner.as_ref().unwrap().name, name.trim_end());
        }
        assert!(of(client).all(|change| change.remote == server));
        let accepted =
            |change: &&ConnectionChange| (change.local, change.remote) == (server, client);
        let accepted: Vec<_> = changes.iter().filter(accepted).collect();
        let accepted_states: Vec<_> =
            accepted.iter().map(|change| (change.before, change.after)).collect();
        assert!(accepted_states.contains(&(SynReceived, Established)), "{accepted_states:?}");
        assert!(accepted.iter().all(|change| change.owner.is_none()));
    }
}
