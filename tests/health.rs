//! The counters of `health`: each is explained, and alike everywhere.

use std::collections::BTreeSet;
use std::path::Path;

use railscope_core::metrics::attribute;
use railscope_core::model::health::event::{HealthEvent, Note};
use serde_json::Value;

use crate::cli::railscope;

#[test]
fn each_has_a_name_of_its_own_and_a_sentence() {
    let (mut names, mut sentences) = (BTreeSet::new(), BTreeSet::new());
    for event in HealthEvent::ALL {
        let (name, about) = (event.name(), event.about());
        let is_word = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        let (area, what) = name.split_once('.').unwrap();
        assert!(area.split('_').chain(what.split('_')).all(is_word), "{name}");
        let is_sentence = about.len() > 40 && about.ends_with('.') && !about.contains('|');
        assert!(is_sentence && about.starts_with(char::is_uppercase), "{name}: {about}");
        assert_eq!(about.matches(". ").count(), 0, "{name}: not one sentence: {about}");
        if let Some(Note { noun, meaning }) = event.note() {
            assert!(!noun.is_empty() && !meaning.is_empty() && !meaning.ends_with('.'), "{name}");
        }
        assert!(names.insert(name) && sentences.insert(about), "{name} occurs twice");
    }
    assert!(names.len() <= attribute::HEALTH.values as usize, "{}", names.len());
}

#[test]
fn the_page_is_the_printed_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/HEALTH.md");
    let page = std::fs::read_to_string(page).unwrap();
    let printed = railscope(["metrics", "--health", "--format", "markdown"]).succeeds();
    let bless = "cargo run -p railscope -- metrics --health --format markdown > docs/HEALTH.md";
    assert!(page == printed, "the counters changed; if that is intended:\n  {bless}");
    let text = railscope(["metrics", "--health"]).succeeds();
    let is_shown = |event: &HealthEvent| {
        text.lines().any(|line| line == event.name())
            && page.contains(&format!("| `{}` | {} |", event.name(), event.about()))
    };
    assert!(HealthEvent::ALL.iter().all(is_shown));
}

#[test]
fn the_schema_explains_them() {
    let schema: Value = serde_json::from_str(&railscope(["schema"]).succeeds()).unwrap();
    let counters = schema["properties"]["health"]["properties"].as_object().unwrap();
    assert_eq!(counters.len(), HealthEvent::ALL.len());
    for event in HealthEvent::ALL {
        assert_eq!(counters[event.name()]["description"], event.about());
    }
}
