//! The registry in OpenTelemetry's form has what the catalogue has, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use railscope_core::metrics::metric::Instrument;
use railscope_core::metrics::{attribute, catalog};
use serde_json::Value;

use crate::cli::railscope;
use crate::support::receivers;

/// Attributes of OpenTelemetry's own registry.
const OTHERS: [&str; 8] = [
    "error.type",
    "network.io.direction",
    "network.type",
    "process.executable.name",
    "k8s.container.name",
    "k8s.namespace.name",
    "k8s.pod.name",
    "k8s.pod.uid",
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards/registry").join(name)
}

/// All groups of a type, by id.
fn groups<'a>(registry: &'a Value, kind: &str) -> BTreeMap<&'a str, &'a Value> {
    let all = registry["groups"].as_array().unwrap();
    let ids: BTreeSet<&str> = all.iter().map(|group| group["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len(), "an id occurs twice");
    let of_kind = all.iter().filter(|group| group["type"] == kind);
    of_kind.map(|group| (group["id"].as_str().unwrap(), group)).collect()
}

#[test]
fn the_registry_is_the_printed_one() {
    let printed = railscope(["metrics", "--format", "registry"]).succeeds();
    let bless =
        "cargo run -p railscope -- metrics --format registry > dashboards/registry/railscope.yaml";
    let committed = fs::read_to_string(path("railscope.yaml")).unwrap();
    assert!(committed == printed, "the catalogue changed; if that is intended:\n  {bless}");
}

#[test]
fn the_registry_and_the_catalogue_say_the_same() {
    let test = "the_registry_and_the_catalogue_say_the_same";
    let text = fs::read_to_string(path("railscope.yaml")).unwrap();
    let Some(registry) = receivers::yaml(test, &text) else { return };
    let metrics = groups(&registry, "metric");
    let told: BTreeSet<String> = metrics.iter().map(|(id, group)| metric(id, group)).collect();
    let known: BTreeSet<String> = catalog::all()
        .map(|metric| {
            let instrument = match metric.instrument {
                Instrument::Counter => "counter",
                Instrument::Gauge => "gauge",
                Instrument::Histogram(_) => "histogram",
            };
            let mut attributes: Vec<_> = metric
                .attributes
                .iter()
                .map(|one| (one.name, if one.is_optional { "opt_in" } else { "required" }))
                .collect();
            attributes.sort_unstable();
            let (name, unit, about) = (metric.name, metric.unit.ucum(), metric.about);
            format!("{name} {unit} {instrument} {attributes:?} {about}.")
        })
        .collect();
    assert_eq!(told, known);
    assert_eq!(metrics.len(), catalog::all().count());

    let mut defined = BTreeMap::new();
    for group in groups(&registry, "attribute_group").values() {
        for one in group["attributes"].as_array().unwrap() {
            let before = defined.insert(one["id"].as_str().unwrap(), one);
            assert!(before.is_none() && one["stability"] == "development", "{one}");
            let members = one["type"]["members"].as_array().map_or(0, Vec::len);
            let is_open = one["type"] == "string" && one["examples"].is_array();
            assert!(is_open != (members >= 2), "{one}");
        }
    }
    let known: BTreeMap<&str, &str> = attribute::ALL
        .iter()
        .rev()
        .filter(|one| !OTHERS.contains(&one.name))
        .map(|one| (one.name, one.about))
        .collect();
    let told: BTreeMap<&str, &str> = defined
        .iter()
        .map(|(id, one)| (*id, one["brief"].as_str().unwrap().strip_suffix('.').unwrap()))
        .collect();
    assert_eq!(told, known);
}

/// One metric of the registry, as text.
fn metric(id: &str, group: &Value) -> String {
    assert_eq!(group["stability"], "development", "{id}");
    let text = |key: &str| group[key].as_str().unwrap();
    assert_eq!(id, format!("metric.{}", text("metric_name")));
    let none = Vec::new();
    let attributes = group["attributes"].as_array().unwrap_or(&none).iter();
    let mut attributes: Vec<(&str, &str)> = attributes
        .map(|one| (one["ref"].as_str().unwrap(), one["requirement_level"].as_str().unwrap()))
        .collect();
    attributes.sort_unstable();
    let (name, unit, instrument) = (text("metric_name"), text("unit"), text("instrument"));
    format!("{name} {unit} {instrument} {attributes:?} {}", text("brief"))
}

#[test]
fn the_manifest_names_what_the_registry_builds_on() {
    let test = "the_manifest_names_what_the_registry_builds_on";
    let text = fs::read_to_string(path("registry_manifest.yaml")).unwrap();
    let Some(manifest) = receivers::yaml(test, &text) else { return };
    assert_eq!(manifest["name"], "railscope");
    assert_eq!(manifest["dependencies"].as_array().unwrap().len(), 1);
    let otel = manifest["dependencies"][0]["registry_path"].as_str().unwrap();
    assert!(otel.contains("semantic-conventions/archive/refs/tags/v1.44.0"), "{otel}");
}
