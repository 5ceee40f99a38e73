//! OTLP headers whose values are in files.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;

use crate::support::railscope::PROGRAM;
use crate::support::service::{QUIET, Service};

fn sections(port: u16, file: &str) -> String {
    format!(
        "{QUIET}endpoint = \"http://127.0.0.1:{port}\"\nprotocol = \"http/protobuf\"\n\
         headers = {{ Authorization = {{ file = {file:?} }}, x = \"50%, a=b\" }}\n"
    )
}

/// Header lines of the first request.
fn head(listener: &TcpListener) -> Vec<String> {
    let (mut stream, _) = listener.accept().unwrap();
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let head = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    head
}

#[test]
fn a_token_comes_from_a_file_or_from_a_credential_of_systemd() {
    for is_credential in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let token = folder.path().join("token");
        fs::write(&token, "Bearer s3cret,100%25\n").unwrap();
        let (name, credentials) = match is_credential {
            true => ("token".to_owned(), folder.path().to_str().unwrap().to_owned()),
            false => (token.to_str().unwrap().to_owned(), "/nowhere".to_owned()),
        };
        let sections = sections(listener.local_addr().unwrap().port(), &name);
        let variables = [("CREDENTIALS_DIRECTORY", credentials.as_str())];
        let service = Service::start_with(folder, &sections, "", &variables);
        let head = head(&listener);
        let has = |line: &str| head.iter().any(|one| one.eq_ignore_ascii_case(line));
        assert!(has("authorization: Bearer s3cret,100%25") && has("x: 50%, a=b"), "{head:?}");
        assert!(!service.log().contains("s3cret"));
    }
}

#[test]
fn a_token_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("collector.toml");
    let long = folder.path().join("long");
    fs::write(&long, "x".repeat(100_000)).unwrap();
    let two = folder.path().join("two");
    fs::write(&two, "a\nb\n").unwrap();
    for (file, said) in [
        ("/nowhere/token", "/nowhere/token: No such file"),
        ("token", "the path is relative and CREDENTIALS_DIRECTORY is not set"),
        (long.to_str().unwrap(), "longer than 64 KiB"),
        (two.to_str().unwrap(), "needs one line of text"),
    ] {
        fs::write(&settings, sections(4318, file)).unwrap();
        for (check, code) in [(vec![], 2), (vec!["--check"], 1)] {
            let mut agent = Command::new(PROGRAM);
            agent.args(["agent", "--set", "prometheus.listen=\"127.0.0.1:0\"", "--config"]);
            let output = agent
                .arg(&settings)
                .args(check)
                .env_remove("CREDENTIALS_DIRECTORY")
                .output()
                .unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.contains("otlp.headers.Authorization: "), "{stderr}");
            assert!(
                output.status.code() == Some(code) && stderr.contains(said),
                "{said}: {stderr}"
            );
        }
    }
}
