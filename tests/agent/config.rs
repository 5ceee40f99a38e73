//! The agent's settings: the example holds the defaults, and all mistakes are reported at once.

use std::time::Duration;

use bytesize::ByteSize;
use railscope::config::reader::Override;
use railscope::config::{Config, HeaderSource, OtlpProtocol, Problems, environment};
use railscope_core::analysis::finding::catalog;

const EXAMPLE: &str = include_str!("../../collector/collector.example.toml");

fn read(text: &str, overrides: &[Override]) -> Result<Config, Problems> {
    let names: Vec<&str> = catalog::names().collect();
    Config::read(text, overrides, names.into_iter())
}

/// The mistakes in a file, line by line.
fn wrong(text: &str) -> Vec<String> {
    read(text, &[]).unwrap_err().to_string().lines().map(str::to_owned).collect()
}

fn given(name: &str, key: &str, value: &str) -> Override {
    Override { name: name.to_owned(), key: key.to_owned(), value: value.to_owned() }
}

/// The example with its commented keys (`# key = value`) set.
fn uncommented() -> String {
    let line = |line: &str| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let (key, _) = bare.split_once(" = ").unwrap_or_default();
        let is_key =
            !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b"_-".contains(&b));
        format!("{}\n", if is_key { bare } else { line })
    };
    EXAMPLE.lines().map(line).collect()
}

#[test]
fn the_example_is_the_defaults() {
    assert_eq!(read(EXAMPLE, &[]), Ok(Config::default()));
    assert_eq!(read("", &[]), Ok(Config::default()));
}

/// The error for an unknown key lists the section's keys: the example has all of them.
#[test]
fn the_example_has_every_key() {
    let all = uncommented();
    let set = read(&all, &[]).unwrap();
    assert_eq!(set.host.name.as_deref(), Some("node17"));
    assert_eq!(set.otlp.endpoint.as_deref(), Some("http://127.0.0.1:4317"));
    assert_eq!((set.findings.expect.dscp, set.findings.expect.ecn), (Some(26), Some(true)));
    let example: toml::Table = toml::from_str(&all).unwrap();
    for (section, keys) in &example {
        let keys: Vec<&str> = keys.as_table().unwrap().keys().map(String::as_str).collect();
        let problems = wrong(&format!("[{section}]\nnonsense = 1\n"));
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        let known: Vec<&str> = match problem.split_once("allowed are ") {
            Some((_, known)) => known.split(", ").collect(),
            // The sections that `analyze` reads.
            None => problem.split('`').skip(3).step_by(2).collect(),
        };
        let sorted = |mut keys: Vec<&str>| {
            keys.sort_unstable();
            keys.join(" ")
        };
        assert_eq!(sorted(keys), sorted(known), "[{section}]: {problem}");
    }
}

#[test]
fn flags_set_every_key() {
    let all = uncommented();
    let whole = read(&all, &[]).unwrap();
    let mut flags = Vec::new();
    let mut section = "";
    for line in all.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#'))
        {
            let key = format!("{section}.{key}");
            flags.push(given(&format!("--set {key}"), &key, value));
        }
    }
    assert!(flags.len() > 40, "{flags:?}");
    assert_eq!(read("", &flags), Ok(whole));
    // Flags win, and text needs no quotes.
    let text = "[findings]\nhang_after_s = 3.0\nce_share = 0.5\n[expect]\nmtu = 1024\n";
    let flags = [
        given("--set findings.hang_after_s", "findings.hang_after_s", "7.5"),
        given("--set findings.suppress", "findings.suppress", "[\"loss\"]"),
        given("--set expect.bootstrap_interface", "expect.bootstrap_interface", "eth0"),
        given("--set expect.bootstrap_cidr", "expect.bootstrap_cidr", "10.0.4.0/24"),
    ];
    let settings = read(text, &flags).unwrap().findings;
    assert_eq!(settings.findings.hang_after_s, Some(7.5));
    assert_eq!((settings.findings.ce_share, settings.expect.mtu), (0.5, Some(1024)));
    assert!(settings.suppresses("loss"));
    assert_eq!(settings.expect.bootstrap_interface.as_deref(), Some("eth0"));
    assert!(settings.expect.bootstrap_cidr.is_some());
}

#[test]
fn flags_that_are_wrong_are_refused_by_name() {
    let flags = [
        given("--set findings.hang_after", "findings.hang_after", "2"),
        given("--set findings.ce_share", "findings.ce_share", "1.5"),
        given("--set findings.suppress", "findings.suppress", "[\"lost\"]"),
        given("--set expect.mtu", "expect.mtu", "large"),
        given("--set finding.ce_share", "finding.ce_share", "0.5"),
    ];
    let problems = read("", &flags).unwrap_err().to_string();
    let lines: Vec<&str> = problems.lines().collect();
    for (flag, said) in [
        ("--set findings.hang_after: ", "unknown field `hang_after`"),
        ("--set findings.ce_share: ", "ce_share"),
        ("--set findings.suppress: ", "lost"),
        ("--set expect.mtu: ", "expect.mtu: "),
        ("--set finding.ce_share: ", "unknown key `finding.ce_share`; sections are [host]"),
    ] {
        let line = lines.iter().find(|line| line.starts_with(flag));
        assert!(line.is_some_and(|line| line.contains(said)), "{flag}{said}: {problems}");
    }
    assert_eq!(lines.len(), 5, "{problems}");
}

#[test]
fn all_mistakes_are_reported_at_once_with_the_correct_form() {
    let text = r#"
colour = "red"

[taps]
interfaces = "eth0"
exlude = ["lo"]

[counters]
interval = 1
exclude-devices = ["mlx5_[0"]

[window]
length = "0s"
messages = 10

[prometheus]
listen = "localhost"
enabled = "yes"

[otlp]
endpoint = "127.0.0.1:4317"
protocol = "http"
headers = { a = 1 }
queue = "16"
sampling = 2

[findings]
pause_share = 1.5
ce_share = "much"
supress = []
suppress = ["no_such_finding"]

[expect]
dscp = 99

[prometeus]
listen = "[::]:1"
"#;
    let expected = r#"
line 2: `colour` is outside of any section; allowed are [host], [taps], [sources], [counters], [ras], [sflow], [profiles], [window], [prometheus], [otlp], [record], [labels], [findings], [expect]
line 5: taps.interfaces = "eth0" is not valid: write a list of names, with * and ? as wildcards, such as ["mlx5_*"]
line 6: [taps] has no key `exlude`; allowed are interfaces, exclude, mirrors
line 9: counters.interval = 1 is not valid: write a duration with its unit, such as "500ms", "10s" or "5m", from "10ms" to "1h"
line 10: counters.exclude-devices = ["mlx5_[0"] is not valid: write a list of names, with * and ? as wildcards, such as ["mlx5_*"]
line 13: window.length = "0s" is not valid: write a duration with its unit, such as "500ms", "10s" or "5m", from "1s" to "1day"
line 14: window.messages = 10 is not valid: write a whole number, such as 1000, from 1000 to 100000000
line 17: prometheus.listen = "localhost" is not valid: write an address and a port, such as "127.0.0.1:9474" or "[::]:9474"
line 18: prometheus.enabled = "yes" is not valid: write true or false
line 21: otlp.endpoint = "127.0.0.1:4317" is not valid: write a URL, such as "http://127.0.0.1:4317"
line 22: otlp.protocol = "http" is not valid: write "grpc" or "http/protobuf"
line 23: otlp.headers = { a = 1 } is not valid: write a table of names and strings, such as { Authorization = "Bearer x" }, or files, such as { Authorization = { file = "/etc/railscope/token" } }
line 24: otlp.queue = "16" is not valid: write a size with its unit, such as "64 KiB" or "16 MiB", from "64 KiB" to "16 GiB"
line 25: otlp.sampling = 2 is not valid: write a number, such as 0.5, from 0 to 1
line 28: pause_share: 1.5 is not valid: write a number from 0 to 1
line 29: findings.ce_share: invalid type: string "much", expected f64
line 30: findings.supress: unknown field `supress`, expected one of `suppress`, `slow_bootstrap_s`, `hang_after_s`, `pause_share`, `ce_share`, `jain_index`
line 31: suppress: unknown finding `no_such_finding`; `railscope findings` lists all
line 34: dscp: 99 is not valid: write a number from 0 to 63
line 36: unknown section [prometeus]; allowed are [host], [taps], [sources], [counters], [ras], [sflow], [profiles], [window], [prometheus], [otlp], [record], [labels], [findings], [expect]"#;
    assert_eq!(wrong(text).join("\n"), expected.trim_start());
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    let problems = wrong("[otlp]\nqueue = \n[labels]\nrank = maybe\n");
    assert!(problems[0].starts_with("line 2: "), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.starts_with("line 4: ")), "{problems:?}");
    assert!(wrong("otlp = 3")[0].contains("`otlp` is a section, not a value: write [otlp]"));
}

#[test]
fn flags_win_over_variables_and_these_over_the_file() {
    let file = "[prometheus]\nlisten = \"127.0.0.1:1\"\n[otlp]\nendpoint = \"http://file\"\n";
    let variable = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("http://variable:4318".to_owned()),
        "OTEL_EXPORTER_OTLP_PROTOCOL" => Some("http/protobuf".to_owned()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("api-key=a%20\"b\" , x = 1%2C2".to_owned()),
        "OTEL_METRIC_EXPORT_INTERVAL" => Some("2500".to_owned()),
        "OTEL_SDK_DISABLED" => Some(" ".to_owned()),
        _ => None,
    };
    let mut overrides = environment::overrides(variable);
    let set = read(file, &overrides).unwrap().otlp;
    assert_eq!(set.endpoint.as_deref(), Some("http://variable:4318"));
    assert_eq!(set.protocol, OtlpProtocol::HttpProtobuf);
    assert_eq!(set.headers["api-key"], HeaderSource::Text("a \"b\"".to_owned()));
    assert_eq!(set.headers["x"], HeaderSource::Text("1,2".to_owned()));
    assert_eq!(set.interval, Duration::from_millis(2500));
    assert!(set.enabled);
    overrides.push(given("--otlp-endpoint", "otlp.endpoint", "http://flag"));
    overrides.push(given("--listen", "prometheus.listen", "[::1]:2"));
    overrides.push(given("--interface", "taps.interfaces", "[\"eth*\", \"rail0\"]"));
    overrides.push(given("--no-calls", "sources.calls", "false"));
    let set = read(file, &overrides).unwrap();
    assert_eq!(set.otlp.endpoint.as_deref(), Some("http://flag"));
    assert_eq!(set.prometheus.listen.to_string(), "[::1]:2");
    assert_eq!(set.taps.interfaces.len(), 2);
    assert!(!set.sources.calls && set.sources.packets);
    let disabled =
        environment::overrides(|name| (name == "OTEL_SDK_DISABLED").then(|| "TRUE".to_owned()));
    assert!(!read(file, &disabled).unwrap().otlp.enabled);
}

#[test]
fn a_flag_that_makes_no_sense_is_called_by_its_name() {
    let overrides = [given("--listen", "prometheus.listen", "9474"), given("--set", "a.b", "1")];
    let problems = read("[sources]\ncalls = 1\n", &overrides).unwrap_err().to_string();
    let expected = "line 2: sources.calls = 1 is not valid: write true or false\n\
                    --listen: `9474` is not valid for prometheus.listen: write an address and a port, such as \
                    \"127.0.0.1:9474\" or \"[::]:9474\"\n\
                    --set: unknown key `a.b`; sections are [host], [taps], [sources], [counters], [ras], \
         [sflow], [profiles], [window], [prometheus], [otlp], [record], [labels], [findings], [expect]";
    assert_eq!(problems, expected);
}

#[test]
fn values_are_what_they_say() {
    let set =
        read("[otlp]\nqueue = \"1 GiB\"\nsampling = 0.25\n[window]\nlength = \"1h 30m\"\n", &[])
            .unwrap();
    assert_eq!(set.otlp.queue, ByteSize(1 << 30));
    assert!((set.otlp.sampling - 0.25).abs() < f64::EPSILON);
    assert_eq!(set.window.length, Duration::from_secs(5400));
}
