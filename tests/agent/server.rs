//! The agent's pages: proper requests are answered, and bad clients cannot block them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use railscope::agent::server::body::Body;
use railscope::agent::server::host::Names;
use railscope::agent::server::{Page, Route, Server, ServerError};
use railscope_testbed::clock::eventually;

use crate::support::clock::duration_of;

fn page(path: &'static str, status: u16, body: String) -> Route {
    (path, Box::new(move || Page { status, content_type: "text/plain", body: body.clone().into() }))
}

/// The server may be called `x`.
fn names() -> Names {
    Names { own: "x".to_owned(), is_local: true, others: Vec::new() }
}

fn start(address: SocketAddr, routes: Vec<Route>) -> Result<Server, ServerError> {
    Server::start(address, names(), routes, Arc::default())
}

fn server(routes: Vec<Route>) -> Server {
    start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), routes).unwrap()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends a request and reads the answer to its end.
fn ask(server: &Server, request: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

/// Whether the server has room for one more client, which asks for `/healthz`.
fn is_served(server: &Server) -> bool {
    let mut stream = connect(server);
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).is_ok() && status(&answer) == "200"
}

/// A page that is kept packed comes as text, or as gzip to those who ask for it.
#[test]
fn a_packed_page_is_unpacked_unless_the_client_takes_gzip() {
    let text = "a long report\n".repeat(20_000);
    let whole = text.clone();
    let make = move || Page {
        status: 200,
        content_type: "application/json",
        body: Body::pack(|out| out.write_all(whole.as_bytes())).unwrap(),
    };
    let server = server(vec![("/report.json", Box::new(make))]);
    for refusal in ["", "Accept-Encoding: br, gzip;q=0\r\n"] {
        let request = format!("GET /report.json HTTP/1.1\r\nHost: x\r\n{refusal}\r\n");
        let answer = ask(&server, &request);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", text.len())), "{head}");
        assert!(!head.contains("gzip") && body == text, "{head}");
    }
    let mut stream = connect(&server);
    let request =
        "GET /report.json HTTP/1.1\r\nHost: x\r\nAccept-Encoding: deflate, GZIP;q=0.5\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]);
    assert!(head.contains("Content-Encoding: gzip\r\n"), "{head}");
    assert!(answer.len() < text.len() / 20, "{}", answer.len());
    let mut unpacked = String::new();
    GzDecoder::new(&answer[end + 4..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
}

#[test]
fn pages_are_served() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = {
        let asked = Arc::clone(&asked);
        move || {
            let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
            let body = format!("asked {number}\n");
            Page { status: 200, content_type: "text/plain; version=0.0.4", body: body.into() }
        }
    };
    let server =
        server(vec![("/metrics", Box::new(count)), page("/readyz", 503, "starting\n".to_owned())]);
    let answer = ask(&server, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: 8\r\n\
                    Connection: close\r\n\r\nasked 1\n";
    assert_eq!(answer, expected);
    assert!(ask(&server, "GET /metrics?x=1 HTTP/1.0\r\n\r\n").ends_with("asked 2\n"));
    assert!(
        ask(&server, "HEAD /metrics HTTP/1.1\r\n\r\n")
            .ends_with("Content-Length: 8\r\nConnection: close\r\n\r\n")
    );
    assert_eq!(status(&ask(&server, "GET /readyz HTTP/1.1\r\n\r\n")), "503");
    let nothing = ask(&server, "GET / HTTP/1.1\r\n\r\n");
    assert!(status(&nothing) == "404" && nothing.ends_with("there are: /metrics /readyz\n"));
    assert_eq!(status(&ask(&server, "POST /metrics HTTP/1.1\r\n\r\n")), "405");
    assert_eq!(status(&ask(&server, "nonsense\r\n\r\n")), "400");
    let long = format!("GET /metrics HTTP/1.1\r\nx: {}", "y".repeat(9000));
    assert_eq!(status(&ask(&server, &long)), "431");
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(65));
    assert_eq!(status(&ask(&server, &many)), "431");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[test]
fn requests_come_in_pieces_and_answers_are_large() {
    let body = "0123456789abcdef".repeat(1 << 18);
    let server = server(vec![page("/metrics", 200, body.clone())]);
    let mut stream = connect(&server);
    for piece in ["GE", "T /metr", "ics HTTP/1.1\r\nHost: x\r", "\n\r\n"] {
        stream.write_all(piece.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with(&body));
}

/// Silent clients, and clients that ask and do not read, more than there are places.
#[test]
fn slow_clients_hold_nobody_up() {
    let large = "0123456789abcdef".repeat(1 << 19);
    let server =
        server(vec![page("/large", 200, large), page("/healthz", 200, "alive\n".to_owned())]);
    let slow: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = connect(&server);
            if number % 2 == 0 {
                // It may have been let go already.
                let _ = stream.write_all(b"GET /large HTTP/1.1\r\n\r\n");
            }
            stream
        })
        .collect();
    // Younger ones are not let go at once.
    thread::sleep(Duration::from_millis(2500));
    let served = (0..100).filter(|_| is_served(&server)).count();
    assert_eq!(served, 100);
    drop(slow);
}

/// A page of the web may have a browser of this host ask for the pages, by a name of its own.
#[test]
fn requests_must_name_this_server() {
    let server = server(vec![page("/metrics", 200, "x\n".to_owned())]);
    let asked = |host: &str| {
        status(&ask(&server, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"))).to_owned()
    };
    for host in ["x", "127.0.0.1:9474", "localhost:9474", "[::1]"] {
        assert_eq!(asked(host), "200", "{host}");
    }
    for host in ["evil.example", "x.evil.example:9474", "localhost.evil.example"] {
        assert_eq!(asked(host), "421", "{host}");
    }
    let two = "GET /metrics HTTP/1.1\r\nHost: x\r\nHost: evil.example\r\n\r\n";
    assert!(["400", "421"].contains(&status(&ask(&server, two))));
}

/// Whoever asks all the time gets an answer now and then.
#[test]
fn floods_are_slowed_down() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let costly = move || {
        count.fetch_add(1, Ordering::Relaxed);
        Page { status: 200, content_type: "text/plain", body: "x\n".into() }
    };
    let server = server(vec![("/report.json", Box::new(costly))]);
    let mut refused = 0;
    let took = duration_of(|| {
        for _ in 0..1500 {
            let answer = ask(&server, "GET /report.json HTTP/1.1\r\n\r\n");
            refused += usize::from(status(&answer) == "429");
        }
    });
    let made = made.load(Ordering::Relaxed);
    let most = 110 + (took.as_secs_f64() * 100.0) as usize;
    assert!(made <= most, "{made} pages in {took:?}");
    assert_eq!(made + refused, 1500);
    assert!(took >= Duration::from_secs(2), "500 connections a second: {took:?}");
}

#[test]
fn a_slow_page_holds_up_no_other() {
    let (entered, is_entered) = mpsc::channel();
    let (finish, finished) = mpsc::channel::<()>();
    let finished = Mutex::new(finished);
    let slow = move || {
        entered.send(()).unwrap();
        let _ = finished.lock().unwrap().recv();
        Page { status: 200, content_type: "text/plain", body: "slow\n".into() }
    };
    let broken = || -> Page { panic!("a page that panics") };
    let server = server(vec![
        ("/slow", Box::new(slow)),
        ("/broken", Box::new(broken)),
        page("/healthz", 200, "alive\n".to_owned()),
    ]);
    thread::scope(|scope| {
        let answer = scope.spawn(|| ask(&server, "GET /slow HTTP/1.1\r\n\r\n"));
        is_entered.recv().unwrap();
        assert_eq!(status(&ask(&server, "GET /healthz HTTP/1.1\r\n\r\n")), "200");
        assert_eq!(status(&ask(&server, "GET /broken HTTP/1.1\r\n\r\n")), "500");
        assert_eq!(status(&ask(&server, "GET /healthz HTTP/1.1\r\n\r\n")), "200");
        drop(finish);
        assert!(answer.join().unwrap().ends_with("slow\n"));
    });
}

/// However slowly a client sends or reads.
#[test]
fn every_client_is_let_go() {
    let large = "0123456789abcdef".repeat(1 << 19);
    let server =
        server(vec![page("/metrics", 200, large), page("/healthz", 200, "alive\n".to_owned())]);
    let mut dripping = connect(&server);
    let took = duration_of(|| {
        // A write error means that the server has closed the connection.
        while dripping.write_all(b"G").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    assert!(took < Duration::from_secs(10), "{took:?}");
    let idle: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = connect(&server);
            stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            stream
        })
        .collect();
    eventually("somebody else is served", || is_served(&server));
    drop(idle);
}

#[test]
fn it_ends_with_clients_connected() {
    let server = server(vec![page("/healthz", 200, "alive\n".to_owned())]);
    let mut silent = connect(&server);
    assert_eq!(status(&ask(&server, "GET /healthz HTTP/1.1\r\n\r\n")), "200");
    let address = server.address();
    let took = duration_of(|| drop(server));
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    drop(start(address, Vec::new()).unwrap());
}

#[test]
fn it_ends_when_it_is_dropped() {
    let server = server(vec![page("/healthz", 200, String::new())]);
    let address = server.address();
    assert!(
        start(address, Vec::new()).unwrap_err().to_string().starts_with("listen on 127.0.0.1:")
    );
    drop(server);
    assert!(TcpStream::connect(address).is_err());
    drop(start(address, Vec::new()).unwrap());
}
