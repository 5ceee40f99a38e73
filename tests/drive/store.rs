//! The driver's TCPStore: against recorded PyTorch clients, and against misbehaving clients.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use railscope_drive::clock::Deadline;
use railscope_drive::store::rendezvous::UNIQUE_ID_KEY;
use railscope_drive::store::request::{Request, Requests, VALIDATE};
use railscope_drive::store::{Client, Server, rendezvous};
use railscope_drive::wire::UniqueId;

use crate::support::recording::Recording;
use crate::support::streams::{self, Stretch};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn server() -> Server {
    Server::bind(SocketAddr::new(HERE, 0)).unwrap()
}

fn deadline() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn client(server: &Server) -> Client {
    Client::connect(HERE, server.address(), deadline()).unwrap()
}

/// The requests of PyTorch 2.8's clients get the recorded answers, byte for byte, cut or whole.
#[test]
fn real_conversations_are_understood() {
    let mut kinds = std::collections::BTreeSet::new();
    for run in ["tcpstore-torch2.8.0-uv", "tcpstore-torch2.8.0-legacy"] {
        let recording = Recording::unpack(run);
        for capture in recording.captures() {
            for recorded in streams::of_file(&recording.folder().join(capture)) {
                let [Stretch::Bytes(sent)] = recorded.client.as_slice() else { continue };
                let mut requests = Requests::default();
                let mut again = VALIDATE.to_vec();
                for piece in sent.chunks(7) {
                    requests.push(piece);
                    while let Some(request) = requests.take().unwrap() {
                        kinds.insert(request.encode()[0]);
                        again.extend(request.encode());
                    }
                }
                assert_eq!(&again, sent);
            }
        }
    }
    assert!(kinds.is_superset(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13].into()), "{kinds:?}");
}

#[test]
fn a_unique_id_reaches_every_rank() {
    let server = server();
    let id = UniqueId::new(7, "10.0.0.1:50000".parse().unwrap());
    let found = std::thread::scope(|scope| {
        let reader = scope
            .spawn(|| rendezvous::look_up(&client(&server), UNIQUE_ID_KEY, deadline()).unwrap());
        rendezvous::publish(&client(&server), UNIQUE_ID_KEY, &id, deadline()).unwrap();
        reader.join().unwrap()
    });
    assert_eq!(found, id);
    let client = client(&server);
    assert_eq!(client.add("/n", 40, deadline()).unwrap(), 40);
    assert_eq!(client.add("/n", 2, deadline()).unwrap(), 42);
    assert_eq!(client.get("/n", deadline()).unwrap(), b"42");
    assert_eq!(client.compare_set("/n", b"42", b"43", deadline()).unwrap(), b"43");
    assert!(client.check(&["/n"], deadline()).unwrap());
    assert!(!client.check(&["/n", "/m"], deadline()).unwrap());
}

#[test]
fn a_wait_times_out_and_the_client_continues() {
    let server = server();
    let client = client(&server);
    let short = Deadline::after(Duration::from_millis(50));
    let error = client.get("/never", short).unwrap_err().to_string();
    assert!(error.starts_with("key /never in the store at 127.0.0.1:"), "{error}");
    assert_eq!(client.add("/n", 1, deadline()).unwrap(), 1);
    drop(server);
    assert!(client.add("/n", 1, deadline()).is_err());
}

#[test]
fn a_port_in_use_is_named() {
    let server = server();
    let error = Server::bind(server.address()).unwrap_err().to_string();
    assert!(error.starts_with("serve the store at 127.0.0.1:"), "{error}");
    assert!(error.contains("in use"), "{error}");
}

/// A client that speaks another protocol is disconnected; the others do not notice.
#[test]
fn strangers_are_sent_away() {
    let server = server();
    let friend = client(&server);
    friend.set("/k", b"v", deadline()).unwrap();
    let mut long_key = VALIDATE.to_vec();
    long_key.extend([3, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &[255; 64], &long_key] {
        let mut stranger = TcpStream::connect(server.address()).unwrap();
        stranger.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stranger.write_all(bytes).unwrap();
        let answer = stranger.read(&mut [0; 8]);
        assert!(
            matches!(answer, Ok(0))
                || answer
                    .is_err_and(|error| { error.kind() == std::io::ErrorKind::ConnectionReset })
        );
    }
    assert_eq!(friend.get("/k", deadline()).unwrap(), b"v");
}

/// A client that does not read its answers is not read from; the others are served meanwhile.
#[test]
fn a_client_that_reads_nothing_fills_no_memory() {
    let server = server();
    let friend = client(&server);
    friend.set("/k", &vec![7; 4 << 20], deadline()).unwrap();
    let mut greedy = TcpStream::connect(server.address()).unwrap();
    greedy.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let get = Request::Get(b"/k".to_vec()).encode();
    let _ = greedy.write_all(&VALIDATE);
    let asked = (0..100_000).take_while(|_| greedy.write_all(&get).is_ok()).count();
    assert!(asked > 0);
    assert_eq!(friend.get("/k", deadline()).unwrap().len(), 4 << 20);
}
