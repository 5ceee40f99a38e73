//! The chart: linted and rendered by helm, judged for three releases of Kubernetes.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::script::{folder, output_of, page, program};
use crate::repository::{command, root};

/// Releases of Kubernetes that manifests are judged for.
const RELEASES: [&str; 4] = ["1.30", "1.32", "1.34", "1.37"];

/// Values that change what is rendered; each adds to the defaults.
const VARIANTS: [&[&str]; 11] = [
    &[],
    &["sources.packets=false"],
    &["sources.calls=false"],
    &["sources.packets=false", "sources.calls=false"],
    &["podMonitor.enabled=true", "serviceMonitor.enabled=true"],
    &["priorityClass.create=false", "networkPolicy.enabled=false"],
    &["capture.enabled=true", "capture.keep=5m"],
    &["sources.sflow=true", "networkPolicy.sflowFrom[0].ipBlock.cidr=10.255.0.0/24"],
    &[
        "affinity=null",
        "priorityClass.create=false",
        "priorityClass.name=system-node-critical",
        "podLabels.team=network",
        "podAnnotations.note=here",
        "env[0].name=OTEL_EXPORTER_OTLP_HEADERS",
        "env[0].valueFrom.secretKeyRef.name=otlp",
        "env[0].valueFrom.secretKeyRef.key=headers",
        "envFrom[0].secretRef.name=otlp",
    ],
    &[
        "webConfig.secret=web",
        "webConfig.scheme=HTTPS",
        "webConfig.endpoint.tlsConfig.serverName=railscope",
        "podMonitor.enabled=true",
        "serviceMonitor.enabled=true",
    ],
    PLACES_PROFILER,
];

/// Has the plugin put on each node.
pub(super) const PLACES_PROFILER: &[&str] = &["profiler.hostPath=/opt/railscope"];

/// Values that the chart refuses, and a part of what it says of each.
const REFUSED: [(&str, &str); 24] = [
    ("queuePair=1000", "'queuePair' not allowed"),
    ("taps.interface[0]=eth0", "'interface' not allowed"),
    ("labels.ranks=true", "'ranks' not allowed"),
    ("config=[taps]", "'config' not allowed"),
    ("otlp.headers.Authorization=x", "'headers' not allowed"),
    ("port=0", "/port"),
    ("port=65536", "/port"),
    ("port=http", "/port"),
    ("window.length=5", "/window/length"),
    ("window.length=soon", "/window/length"),
    ("window.messages=10", "/window/messages"),
    ("queuePairs=-1", "/queuePairs"),
    ("podMonitor.interval=fast", "/podMonitor/interval"),
    ("maxUnavailable=0%", "/maxUnavailable"),
    ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
    ("webConfig.scheme=https", "/webConfig/scheme"),
    ("host.kubelet=127.0.0.1:10255", "/host/kubelet"),
    ("capture.size=4 GiB", "/capture/size"),
    ("profiler.hostPath=opt/railscope", "/profiler/hostPath"),
    ("profiler.hostPath=/opt/../etc", "/profiler/hostPath"),
    ("profiler.enabled=true", "'enabled' not allowed"),
    // A ring needs a volume.
    ("capture.keep=5m", "capture.keep needs capture.enabled"),
    ("extraConfig=interval = \"1s\"", "must begin with a section"),
    ("extraConfig=[ \"taps\" ]", "set taps instead"),
];

/// Settings of every section that the chart writes.
const SETTINGS: [&str; 8] = [
    "capture.enabled=true",
    "capture.keep=1h 30m",
    "taps.interfaces={eth*}",
    "labels.rank=true",
    "otlp.endpoint=http://otel:4317",
    "otlp.sampling=1",
    "host.kubelet=http://127.0.0.1:10255",
    "extraConfig=# more\n[otlp.headers]\nAuthorization = \"x\"\n",
];

/// Capabilities of each variant.
const CAPABILITIES: [&[&str]; 4] = [
    &["BPF", "DAC_READ_SEARCH", "NET_ADMIN", "NET_RAW", "PERFMON", "SYS_ADMIN", "SYS_PTRACE"],
    &["DAC_READ_SEARCH", "SYS_ADMIN", "SYS_PTRACE"],
    &["BPF", "NET_ADMIN", "NET_RAW", "PERFMON"],
    &[],
];

/// Follows the page, renders the variants, and validates all of them.
pub(super) fn check() -> Result<()> {
    let shown = page("chart", &[])?;
    ensure!(shown.contains("kind: DaemonSet"), "the page renders no DaemonSet:\n{shown}");
    for (number, values) in VARIANTS.iter().enumerate() {
        let manifests = render(values)?;
        let (standard, custom): (Vec<_>, Vec<_>) =
            objects(&manifests)?.into_iter().partition(is_standard);
        ensure!(custom.len() == values.iter().filter(|value| value.contains("Monitor")).count());
        if let Some(expected) = CAPABILITIES.get(number) {
            let container = &pod(&standard)?["containers"][0];
            ensure!(capabilities(container) == *expected, "{values:?}: {container}");
            let is_root = container["securityContext"]["runAsUser"] == 0;
            ensure!(is_root != expected.is_empty(), "{values:?}: user 0 if it has capabilities");
        }
        for release in RELEASES {
            validate(&standard, release).with_context(|| format!("{values:?}"))?;
        }
    }
    // 8 + 0.022 a queue pair + 0.0003 a message, as in docs/DEPLOY.md: 330 MiB and a quarter more; at most
    // 8,192 queue pairs, 488.2 MiB and a tenth more.
    let sized = objects(&render(&["queuePairs=1000", "window.messages=1000000"])?)?;
    let resources = &pod(&sized)?["containers"][0]["resources"];
    let memory = (&resources["requests"]["memory"], &resources["limits"]["memory"]);
    ensure!(memory.0 == "413Mi" && memory.1 == "538Mi", "{resources}");
    // A ring of frames takes 320 MiB more.
    let recording = objects(&render(VARIANTS[6])?)?;
    let resources = &pod(&recording)?["containers"][0]["resources"];
    let memory = (&resources["requests"]["memory"], &resources["limits"]["memory"]);
    ensure!(memory.0 == "487Mi" && memory.1 == "603Mi", "{resources}");
    // Whoever has more queue pairs than the tables hold gets what is requested.
    let crowded = objects(&render(&["queuePairs=100000"])?)?;
    let resources = &pod(&crowded)?["containers"][0]["resources"];
    ensure!(resources["requests"]["memory"] == resources["limits"]["memory"], "{resources}");
    for (value, reason) in REFUSED {
        let said = refusal(value)?;
        ensure!(said.contains(reason), "{value}: {said}");
    }
    the_agent_reads_the_settings()?;
    the_operator_gets_all_rules()?;
    // The judge must be able to refuse: a misspelt key.
    let mut broken: Vec<Value> = objects(&render(&[])?)?;
    broken.retain(|object| object["kind"] == "DaemonSet");
    broken[0]["spec"]["template"]["spec"]["hostNetworks"] = Value::Bool(true);
    ensure!(validate(&broken, RELEASES[0]).is_err(), "the validator accepts a misspelt key");
    println!("chart: {} renderings valid for Kubernetes {}", VARIANTS.len(), RELEASES.join(", "));
    Ok(())
}

/// The manifests that the built chart makes of these values.
pub(super) fn render(values: &[&str]) -> Result<String> {
    output_of(&mut helm(values))
}

/// What helm says of a value that the chart refuses.
fn refusal(value: &str) -> Result<String> {
    let output = helm(&[value]).output().context("start helm")?;
    ensure!(!output.status.success(), "the chart accepts {value}");
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn helm(values: &[&str]) -> Command {
    let mut helm = program("helm");
    let chart = folder().join(concat!("railscope-", env!("CARGO_PKG_VERSION"), ".tgz"));
    helm.args(["template", "railscope"]).arg(chart).args(["--namespace", "railscope"]);
    values.iter().for_each(|value| _ = helm.args(["--set", value]));
    helm
}

/// The packaged agent accepts the file of the ConfigMap, and takes the values from it.
fn the_agent_reads_the_settings() -> Result<()> {
    let manifests = objects(&render(&SETTINGS)?)?;
    let map = manifests.iter().find(|object| object["kind"] == "ConfigMap");
    let settings = map.and_then(|map| map["data"]["collector.toml"].as_str());
    let settings = settings.context("no collector.toml")?;
    let file = folder().join("collector.toml");
    std::fs::write(&file, settings)?;
    let mut agent = command(folder().join("files/usr/bin/railscope"));
    let checked = agent.args(["agent", "--check", "--config"]).arg(&file).output()?;
    let complaint = String::from_utf8_lossy(&checked.stderr);
    // It may miss sources here; a mistake in the settings is an error.
    ensure!(!complaint.contains("error: settings"), "{complaint}\n{settings}");
    Ok(())
}

/// The operator's object has every group of the files of rules.
fn the_operator_gets_all_rules() -> Result<()> {
    let manifests = objects(&render(&["prometheusRule.enabled=true"])?)?;
    let rule = manifests.iter().find(|object| object["kind"] == "PrometheusRule");
    let rendered = &rule.context("no PrometheusRule")?["spec"]["groups"];
    let mut groups = Vec::new();
    for name in ["alerts", "recording"] {
        let file = root().join(format!("dashboards/prometheus/{name}.yaml"));
        let documents = objects(&std::fs::read_to_string(file)?)?;
        groups.extend(documents[0]["groups"].as_array().context("no groups")?.clone());
    }
    ensure!(
        *rendered == Value::Array(groups),
        "not the rules of dashboards/prometheus: {rendered}"
    );
    Ok(())
}

/// The objects in these manifests.
pub(super) fn objects(manifests: &str) -> Result<Vec<Value>> {
    let code = "import json, sys, yaml; \
                json.dump([one for one in yaml.safe_load_all(sys.stdin) if one], sys.stdout)";
    let mut python = program("python3");
    let child = python.args(["-c", code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.context("start python3")?;
    child.stdin.take().context("python3 has no input")?.write_all(manifests.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "python3 reads no YAML");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The pod of the DaemonSet.
pub(super) fn pod(objects: &[Value]) -> Result<&Value> {
    let set = objects.iter().find(|object| object["kind"] == "DaemonSet");
    Ok(&set.context("no DaemonSet")?["spec"]["template"]["spec"])
}

/// What a container may do, in alphabetical order.
pub(super) fn capabilities(container: &Value) -> Vec<&str> {
    let added = container["securityContext"]["capabilities"]["add"].as_array();
    let mut names: Vec<&str> = added.into_iter().flatten().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names
}

/// Whether the object is of Kubernetes itself, not of an operator.
fn is_standard(object: &Value) -> bool {
    object["apiVersion"].as_str().is_some_and(|version| !version.contains("coreos.com"))
}

fn validate(objects: &[Value], release: &str) -> Result<()> {
    let file = folder().join("manifests.yaml");
    let documents: Vec<String> = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    std::fs::write(&file, documents.concat())?;
    let mut judge = program("kubernetes-validate");
    judge.args(["--strict", "--quiet", "-k", release]).arg(&file).stdout(Stdio::null());
    let judged = judge.output().context("start kubernetes-validate")?;
    let complaint = String::from_utf8_lossy(&judged.stderr);
    ensure!(judged.status.success(), "not valid for Kubernetes {release}: {complaint}");
    Ok(())
}
