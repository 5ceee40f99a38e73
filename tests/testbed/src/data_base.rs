//! A database with Prometheus' query API, as a process that ends with its handle.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::clock::eventually;
use crate::http;

/// A series' name and labels.
pub type Series = BTreeMap<String, String>;

/// A running database.
pub struct DataBase {
    child: Child,
    /// Port of its pages.
    pub port: u16,
}

impl Drop for DataBase {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl DataBase {
    /// Starts `program`, which listens on `port`, and waits until the page `ready` answers.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    #[must_use]
    pub fn start(program: &mut Command, port: u16, ready: &str) -> Self {
        let child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let one = Self { child, port };
        eventually("the database starts", || one.get(ready).is_some());
        one
    }

    /// Body of the answer to a GET; `None` without an answer, or on an error.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<String> {
        http::get(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)), path)
    }

    /// The answer to a query (series and values), at a time in seconds, or now.
    ///
    /// # Panics
    ///
    /// The query is refused.
    #[expect(clippy::must_use_candidate, reason = "asking is a check of the query")]
    pub fn ask(&self, query: &str, time: Option<f64>) -> Vec<(Series, f64)> {
        let query: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let time = time.map(|time| format!("&time={time}")).unwrap_or_default();
        let path = format!("/api/v1/query?query={query}{time}");
        let answer = self.get(&path).ok_or(path).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], "success", "{answer}");
        let samples = answer["data"]["result"].as_array().unwrap().iter();
        samples
            .map(|sample| {
                let labels = sample["metric"].as_object().unwrap().iter();
                let labels = labels
                    .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                    .collect();
                (labels, sample["value"][1].as_str().unwrap().parse().unwrap())
            })
            .collect()
    }
}

/// A port without a listener.
///
/// # Panics
///
/// No port is free.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
