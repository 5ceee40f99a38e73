//! A database with Prometheus' query API, as a process that ends with its handle.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::clock::eventually;
use super::http;

/// A series' name and labels.
pub type Series = BTreeMap<String, String>;

pub struct DataBase {
    child: Child,
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
    pub fn start(program: &mut Command, port: u16, ready: &str) -> Self {
        let child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let one = Self { child, port };
        eventually("the database starts", || one.get(ready).is_some());
        one
    }

    /// Body of the answer to a GET; `None` without an answer, or on an error.
    pub fn get(&self, path: &str) -> Option<String> {
        http::get(self.port, path)
    }

    /// The answer to a query (series and values), at a time in seconds, or now.
    pub fn ask(&self, query: &str, time: Option<f64>) -> Vec<(Series, f64)> {
        let query: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let time = time.map(|time| format!("&time={time}")).unwrap_or_default();
        let path = format!("/api/v1/query?query={query}{time}");
        let answer = self.get(&path).unwrap_or_else(|| panic!("no answer to {path}"));
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
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The values of a text for scrapes, by name and labels as written.
pub fn lines(text: &str) -> BTreeMap<String, f64> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// Series and values of a text for scrapes; labels are not unescaped.
pub fn samples(text: &str) -> Vec<(Series, f64)> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (of, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = of.split_once('{').unwrap_or((of, ""));
            let labels = labels.trim_end_matches('}').split("\",").filter(|one| !one.is_empty());
            let labels = labels.map(|one| {
                let (name, value) = one.split_once("=\"").unwrap();
                (name.to_owned(), value.trim_end_matches('"').to_owned())
            });
            let name = ("__name__".to_owned(), name.to_owned());
            (labels.chain([name]).collect(), value.parse().unwrap())
        })
        .collect()
}

/// Checks that the stored values are the expected ones. Extra labels, those of the resource or of
/// the scraper, are ignored.
#[track_caller]
pub fn hold_the_same(held: &[(Series, f64)], expected: &[(Series, f64)]) {
    let ours: Vec<&String> = expected.iter().flat_map(|(series, _)| series.keys()).collect();
    let mut others: BTreeMap<Series, f64> = held
        .iter()
        .map(|(series, value)| {
            let kept =
                series.iter().filter(|(name, value)| ours.contains(name) && !value.is_empty());
            (kept.map(|(name, value)| (name.clone(), value.clone())).collect(), *value)
        })
        .collect();
    for (series, value) in expected {
        let known: Series = series
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        let known = others.remove(&known).unwrap_or_else(|| panic!("{series:?} is not stored"));
        assert_eq!(known, *value, "{series:?}");
    }
    assert!(others.is_empty(), "unexpected series: {others:#?}");
}
