//! The catalogue follows its own rules, and its page is up to date.

use std::collections::BTreeSet;
use std::path::Path;

use railscope_core::metrics::metric::Instrument;
use railscope_core::metrics::{attribute, catalog};

use crate::cli::railscope;

#[test]
fn the_page_is_the_printed_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards/METRICS.md");
    let printed = railscope(["metrics", "--format", "markdown"]).succeeds();
    let bless = "cargo run -p railscope -- metrics --format markdown > dashboards/METRICS.md";
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page == printed, "the catalogue changed; if that is intended:\n  {bless}");
    let text = railscope(["metrics"]).succeeds();
    assert!(catalog::all().all(|metric| text.contains(metric.name) && page.contains(metric.name)));
}

#[test]
fn names_are_those_of_the_field() {
    let mut seen = BTreeSet::new();
    for metric in catalog::all() {
        let name = metric.name;
        let is_word = |part: &str| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        assert!(name.split('.').all(is_word), "{name}");
        assert!(["rdma.", "nccl.", "railscope."].iter().any(|own| name.starts_with(own)), "{name}");
        // OpenTelemetry: no unit and no `total` in names.
        let last = name.rsplit(['.', '_']).next().unwrap();
        assert!(!["total", "seconds", "bytes", "ns", "ratio"].contains(&last), "{name}");
        // Prometheus: these endings belong to histograms and counters.
        let prometheus = metric.prometheus_name();
        let part = prometheus.rsplit('_').next().unwrap();
        let is_counter = metric.instrument == Instrument::Counter;
        assert!(is_counter || !["count", "sum", "bucket"].contains(&part), "{prometheus}");
        // A gauge of 1 whose attributes are the news.
        assert!(part != "info" || metric.instrument == Instrument::Gauge, "{prometheus}");
        assert!(seen.insert(prometheus), "{name} occurs twice");
        assert!(!metric.about.is_empty() && !metric.about.ends_with('.'), "{name}");
        assert!(
            !name.replace("training_step", "").contains("step"),
            "{name}: `step` needs `training_`"
        );
        if let Instrument::Histogram(bounds) = metric.instrument {
            assert!(bounds.is_sorted_by(|one, next| one < next), "{name}");
        }
    }
}

#[test]
fn series_are_bounded_and_ids_without_bound_are_no_attributes() {
    for metric in catalog::all() {
        assert!(metric.bound() <= 65_536, "{}: {}", metric.name, metric.bound());
        for one in metric.attributes {
            assert!(attribute::ALL.contains(one), "{} of {}", one.name, metric.name);
        }
    }
    for one in attribute::ALL {
        assert!(one.values > 0 && !one.about.is_empty(), "{}", one.name);
        let banned = ["qpn", "psn", "gid", "pid"];
        assert!(!one.name.split(['.', '_']).any(|word| banned.contains(&word)), "{}", one.name);
        let is_used = catalog::all().any(|metric| metric.attributes.contains(one));
        assert!(is_used, "{} is exported nowhere", one.name);
    }
}
