//! Stores of real PyTorch: every request of its clients, and every unique id.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use railscope_core::decode::tcp_store::{Numbering, Query};
use railscope_core::flow::tcp_stream::sink::Side;
use railscope_core::link::control::facts::StoredId;
use railscope_core::link::control::store::request::{Request, RequestReader};
use railscope_core::link::control::store::{Recognition, StoreConversation, recognises};
use railscope_core::model::witness::{LogId, Witness};
use serde_json::{Value, json};

use crate::support::fixture;
use crate::support::streams::{self, Recorded, Stretch};

const WITNESS: Witness = Witness::Line { log: LogId(0), number: 1 };

/// A request in the notation of the clients' script.
fn describe(request: &Request) -> Value {
    let name = match request.query {
        Query::Validate => "VALIDATE",
        Query::Set => "SET",
        Query::CompareSet => "COMPARE_SET",
        Query::Get => "GET",
        Query::Add => "ADD",
        Query::Check => "CHECK",
        Query::Wait => "WAIT",
        Query::GetNumKeys => "GETNUMKEYS",
        Query::DeleteKey => "DELETE_KEY",
        Query::Append => "APPEND",
        Query::MultiGet => "MULTI_GET",
        Query::MultiSet => "MULTI_SET",
        Query::Ping => "PING",
        other => panic!("the script has no {other:?}"),
    };
    let lengths = request.values.iter().map(|value| value.len);
    match request.query {
        Query::Validate => json!([name, format!("{:#x}", request.number.unwrap())]),
        Query::Check | Query::Wait | Query::MultiGet => json!([name, request.keys]),
        Query::MultiSet => {
            let pairs: Vec<_> = request.keys.iter().zip(lengths).collect();
            json!([name, pairs])
        }
        _ => {
            let mut words = vec![json!(name)];
            words.extend(request.keys.iter().map(|key| json!(key)));
            words.extend(lengths.map(|len| json!(len)));
            words.extend(request.number.map(|number| json!(number)));
            Value::Array(words)
        }
    }
}

fn sent(stretches: &[Stretch]) -> &[u8] {
    match stretches {
        [] => &[],
        [Stretch::Bytes(bytes)] => bytes,
        other => panic!("{} stretches", other.len()),
    }
}

/// The ids of a connection. The client's bytes come first: it waits for every reply.
fn ids(recorded: &Recorded) -> Vec<StoredId> {
    let ends = recorded.connection;
    let mut conversation = StoreConversation::new(ends.client, ends.server);
    let mut ids = Vec::new();
    conversation.bytes(Side::Client, sent(&recorded.client), WITNESS, &mut ids);
    conversation.bytes(Side::Server, sent(&recorded.server), WITNESS, &mut ids);
    assert_eq!(conversation.stop(), None);
    ids
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(name: &str) {
    let folder = fixture::path("tcp");
    let recorded = streams::of_file(&folder.join(format!("{name}.pcap.gz")));
    let script = std::fs::read_to_string(folder.join(format!("{name}.requests.json"))).unwrap();
    let script: Value = serde_json::from_str(&script).unwrap();
    let mut made = BTreeMap::new();
    let mut seen = Vec::new();
    for one in &recorded {
        let mut bytes = sent(&one.client);
        if !bytes.is_empty() {
            assert_eq!(recognises(bytes, Side::Client), Recognition::Yes);
        }
        let mut reader = RequestReader::new(Numbering::Validated);
        let mut requests = Vec::new();
        while let Some(request) = reader.read(&mut bytes).unwrap() {
            requests.push(describe(&request));
        }
        made.insert(one.connection.client.to_string(), Value::Array(requests));
        seen.extend(ids(one));
    }
    // Some scripts omit connections without requests.
    made.retain(|client, requests| {
        script["connections"].get(client).is_some() || requests != &json!([])
    });
    assert_eq!(json!(made), script["connections"]);
    let server: SocketAddr = "192.168.60.1:29500".parse().unwrap();
    for id in &seen {
        assert_eq!(hex(&id.id.0), script["unique_id"]);
        assert_eq!((id.key.as_str(), id.store), ("/default_pg/0//cuda//0", server));
    }
    let setters = seen.iter().filter(|id| id.is_set).count();
    assert_eq!((setters, seen.len()), (1, 4), "one client sets it, three read it");
}

#[test]
fn requests_to_the_poll_loop() {
    check("tcpstore_legacy");
}

#[test]
fn requests_to_libuv() {
    check("tcpstore_uv");
}

#[test]
fn ids_of_a_job() {
    let recorded = streams::of_file(&fixture::path("tcp").join("nccl_2.27.5.pcap.gz"));
    let mut seen = Vec::new();
    for one in &recorded {
        let Some(Stretch::Bytes(bytes)) = one.client.first() else { continue };
        let is_store = recognises(bytes, Side::Client) == Recognition::Yes;
        assert_eq!(is_store, one.connection.server.port() == 29_500);
        if is_store {
            seen.extend(ids(one));
        }
    }
    let id = "fd21bbf4a48c5e0302008989c0a83201";
    assert_eq!(seen.len(), 3, "the creator runs on the store's host");
    assert!(seen.iter().all(|one| hex(&one.id.0).starts_with(id) && !one.is_set));
}
