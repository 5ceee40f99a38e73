//! NCCL's RAS, and what else may listen at its port.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use railscope::ingest::ras;
use railscope_core::decode::ras::RasStatus;

use crate::support::fixture;

/// Listens, and lets `answer` speak with whoever connects.
pub fn listen(answer: impl Fn(&mut TcpStream, &str) -> bool + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for line in lines.map_while(Result::ok) {
                if !answer(&mut stream, line.trim()) {
                    break;
                }
            }
        }
    });
    address
}

/// As a release of NCCL answers; `knows_json` from 2.28.7 on.
pub fn nccl(stream: &mut TcpStream, line: &str, knows_json: bool, status: &[u8]) -> bool {
    let answer: &[u8] = match line {
        "CLIENT PROTOCOL 2" => b"SERVER PROTOCOL 2\n",
        "SET FORMAT json" if !knows_json => b"ERROR: Unknown command\n",
        "VERBOSE STATUS" => status,
        _ => b"OK\n",
    };
    // The client may have had enough.
    stream.write_all(answer).is_ok() && line != "VERBOSE STATUS"
}

#[test]
fn nccl_answers_in_json_or_text() {
    for (file, knows_json) in [("behind_1.json", true), ("mismatch.txt", false)] {
        let status = std::fs::read(fixture::path(&format!("ras/{file}"))).unwrap();
        let expected = status.clone();
        let address = listen(move |stream, line| nccl(stream, line, knows_json, &status));
        let said = ras::status(address).unwrap();
        assert_eq!(said, expected);
        assert!(RasStatus::parse(&said).is_ok(), "{file}");
    }
}

#[test]
fn what_is_not_ras_is_refused() {
    let said = |address| ras::status(address).unwrap_err().to_string();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(said(closed).contains("ask RAS at "));
    let web = listen(|stream, _| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").is_ok());
    assert!(said(web).ends_with("is not RAS"));
    let endless = listen(|stream, _| {
        loop {
            if stream.write_all(&[b'x'; 4096]).is_err() {
                return false;
            }
        }
    });
    assert!(said(endless).ends_with("is not RAS"));
    let silent = listen(|_, _| true);
    assert!(said(silent).contains("does not answer within"));
    let long = listen(|stream, line| match line {
        "VERBOSE STATUS" => loop {
            if stream.write_all(&[b' '; 1 << 16]).is_err() {
                return false;
            }
        },
        _ => nccl(stream, line, true, b""),
    });
    assert!(said(long).contains("has more than 64 MiB"));
}
