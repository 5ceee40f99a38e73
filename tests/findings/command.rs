//! Exit codes, configuration, documentation.

use std::fs;
use std::path::Path;

use railscope_core::analysis::finding::catalog;

use super::scene::bad;
use crate::cli::railscope;

const LOSS: &str = "loss1_send_bw_post.pcap.gz";
const CLEAN: &str = "write_lat.pcap.gz";

#[test]
fn exit_code_1_says_that_something_is_wrong() {
    for (arguments, code) in [
        (["--fail-on", "warning", LOSS], 1),
        (["--fail-on", "critical", LOSS], 0),
        (["--fail-on", "info", CLEAN], 1),
        (["--fail-on", "warning", CLEAN], 0),
        (["--top", "1", LOSS], 0),
    ] {
        let run = railscope(["analyze"].iter().chain(&arguments));
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(!run.stdout.is_empty());
    }
}

/// Ids of a report's findings.
fn names(report: &str) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

fn with_config(text: &str) -> crate::cli::Run {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let path = file.path().to_str().unwrap();
    railscope(["analyze", "--format", "json", "--config", path, LOSS])
}

#[test]
fn suppressed_findings_are_not_reported() {
    let all = with_config("").succeeds();
    assert!(names(&all).contains(&"loss".to_owned()));
    let text = with_config("[findings]\nsuppress = [\"loss\"]\n").succeeds();
    assert!(!names(&text).contains(&"loss".to_owned()) && !names(&text).is_empty());
}

#[test]
fn an_invalid_configuration_is_rejected() {
    for (text, complaint) in [
        ("[findings]\nsupress = []\n", "unknown field `supress`"),
        ("[expect]\nmtu = \"big\"\n", "line 2"),
        ("[findings]\nsuppress = [\"lost\"]\n", "unknown finding `lost`"),
        ("[findings]\npause_share = 2.0\n", "pause_share: 2 is not valid"),
        ("[expect]\nbootstrap_cidr = \"10.0.0.0/40\"\n", "is not a network"),
        ("[expect]\ndscp = 64\n", "dscp: 64 is not valid"),
    ] {
        let said = with_config(text).fails();
        assert!(said.contains(complaint), "{text}: {said}");
    }
}

#[test]
fn expectations_are_checked() {
    let text = with_config("[expect]\ndscp = 26\nmtu = 4096\necn = true\n").succeeds();
    let bad = bad(&serde_json::from_str(&text).unwrap());
    for id in ["dscp_differs", "path_mtu", "roce_not_ect"] {
        assert!(
            bad.iter().any(|finding| finding.starts_with(&format!("\"{id}\""))),
            "{id}: {bad:?}"
        );
    }
}

#[test]
fn the_example_configuration_is_valid() {
    let example = railscope(["findings", "--config-example"]).succeeds();
    assert_eq!(example, include_str!("../../collector/collector.example.toml"));
    with_config(&example).succeeds();
}

/// The agent's sections may be present; their mistakes are reported too, all at once.
#[test]
fn one_file_serves_all_commands() {
    let text = "[taps]\ninterfaces = [\"rail*\"]\n[findings]\nsuppress = [\"loss\"]\n";
    assert!(!names(&with_config(text).succeeds()).contains(&"loss".to_owned()));

    let wrong = "[prometheus]\nlisten = 9474\n[findings]\nsupress = []\n[expct]\n";
    let error = with_config(wrong).fails();
    for complaint in [
        "line 2: prometheus.listen = 9474 is not valid",
        "line 4: findings.supress: unknown field `supress`",
        "line 5: unknown section [expct]",
    ] {
        assert!(error.contains(complaint), "{error}");
    }
    #[cfg(all(target_os = "linux", feature = "live", feature = "otlp"))]
    {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), wrong).unwrap();
        let by_agent = railscope(["agent", "--config", file.path().to_str().unwrap()]).fails();
        let problems = |text: &str| text.split_once(": line ").unwrap().1.to_owned();
        assert_eq!(problems(&by_agent), problems(&error));
    }
}

#[test]
fn every_finding_is_documented() {
    let page = railscope(["findings", "--format", "markdown"]).succeeds();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/FINDINGS.md");
    let committed = fs::read_to_string(&path).unwrap();
    assert_eq!(page, committed, "railscope findings --format markdown > docs/FINDINGS.md");
    let text = railscope(["findings"]).succeeds();
    for name in catalog::names() {
        assert!(page.contains(&format!("\n## `{name}`\n")) && text.contains(&format!("{name}\n")));
    }
    let one = railscope(["findings", "pfc_storm"]).succeeds();
    assert!(one.starts_with("pfc_storm\n") && one.contains("Guo et al."), "{one}");
    assert!(railscope(["findings", "pfc"]).fails().contains("unknown finding `pfc`"));
}

#[test]
fn names_are_unique_and_texts_are_whole() {
    let mut names: Vec<&str> = catalog::names().collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for kind in catalog::ALL {
        for text in [kind.about, kind.threshold, kind.remedy] {
            assert!(text.ends_with(['.', '?', ')']), "{}: {text}", kind.id);
            assert!(!text.contains("  "), "{}: {text}", kind.id);
        }
        assert!(!kind.needs.is_empty(), "{}", kind.id);
    }
}
