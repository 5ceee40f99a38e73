//! The image under podman, with the rights and mounts of the chart's DaemonSet: it reports of a job what an
//! agent outside reports.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use railscope_testbed::data_base::free_port;
use railscope_testbed::fabric::Fabric;
use serde_json::{Value, json};

use super::chart::{PLACES_PROFILER, capabilities, objects, pod, render};
use super::script::{folder, output_of, page, program};
use crate::repository::root;

/// The container's name on the page.
const NAME: &str = "railscope-agent";

/// Most that the image may have besides the binary, bytes: the C library, rules and boards. The binary
/// itself has as many bytes as its profile makes of it.
const MOST_BESIDES: u64 = 6_000_000;

const JOB: &str = "--iterations 10 --warmup_iters 0 --check 0 --buckets 1MiB,512KiB --compute 40ms \
                   --straggler rank=2,delay=150ms,iterations=4..6";

/// Mounts that a container may write to and that hold nothing of it: podman's own files, devices, what the
/// kernel guards, and the mount points of control groups of version 1.
const MAY_WRITE: [&str; 7] = [
    "/dev",
    "/proc",
    "/sys/fs/cgroup",
    "/etc/hosts",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/run/.containerenv",
];

/// Runs the page's commands, then the DaemonSet's pod beside an agent outside.
pub(super) fn check() -> Result<()> {
    let manifests = objects(&render(&[])?)?;
    let settings = podman_settings()?;
    let outside = folder().join("files/usr/bin/railscope");
    let outside = outside.to_str().context("the path is not UTF-8")?.to_owned();
    Fabric::run(&outside.clone(), 4, move |fabric| -> Result<()> {
        let setup = Setup { manifests, settings };
        let outcome = setup
            .follow_page()
            .and_then(|()| setup.compare(fabric, &outside))
            .and_then(|()| setup.runs_without_rights())
            .and_then(|()| setup.places_the_plugin());
        _ = setup.podman(&["rm", "--force", "--all", "--time", "2"]);
        outcome
    })
}

/// podman for machines as CI's: no overlay file system, control groups of both versions, limits of its own.
fn podman_settings() -> Result<[(&'static str, PathBuf); 2]> {
    let base = folder().join("containers");
    fs::create_dir_all(&base)?;
    let (containers, storage) = (base.join("containers.conf"), base.join("storage.conf"));
    fs::write(
        &containers,
        "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]\n\
         [engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n",
    )?;
    fs::write(
        &storage,
        format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = {:?}\nrunroot = {:?}\n",
            base.join("graph"),
            base.join("run")
        ),
    )?;
    Ok([("CONTAINERS_CONF", containers), ("CONTAINERS_STORAGE_CONF", storage)])
}

struct Setup {
    /// Objects of the chart.
    manifests: Vec<Value>,
    settings: [(&'static str, PathBuf); 2],
}

impl Setup {
    fn podman(&self, arguments: &[&str]) -> Result<String> {
        output_of(program("podman").envs(self.settings.iter().cloned()).args(arguments))
    }

    /// The commands of the page, and that they give the rights that the chart gives.
    fn follow_page(&self) -> Result<()> {
        let shown = page("container", &self.settings)?;
        ensure!(shown.contains("\nrailscope_source_visible{"), "/metrics is empty:\n{shown}");
        self.has_the_pods_rights(pod(&self.manifests)?)?;
        let rules = folder().join("alerts.yaml");
        let into = rules.to_str().context("the path is not UTF-8")?;
        self.podman(&["cp", &format!("{NAME}:/usr/share/railscope/rules/alerts.yaml"), into])?;
        let source = fs::read(root().join("dashboards/prometheus/alerts.yaml"))?;
        ensure!(fs::read(&rules)? == source, "the image has other alerts");
        let size: u64 = self
            .podman(&["image", "inspect", "--format", "{{.Size}}", &self.image()?])?
            .trim()
            .parse()?;
        let binary = fs::metadata(folder().join("files/usr/bin/railscope"))?.len();
        ensure!(
            size < binary + MOST_BESIDES,
            "the image has {size} bytes, and its binary only {binary}"
        );
        println!("container: image of {:.1} MB", size as f64 / 1e6);
        self.podman(&["rm", "--force", "--time", "2", NAME])?;
        Ok(())
    }

    /// The image that the page loaded.
    fn image(&self) -> Result<String> {
        let images = self.podman(&["images", "--quiet", "--no-trunc", "localhost/railscope"])?;
        Ok(images.lines().next().context("podman has no image")?.to_owned())
    }

    /// What podman and the kernel say of the running container is what the chart asks for.
    fn has_the_pods_rights(&self, pod: &Value) -> Result<()> {
        let container = &pod["containers"][0];
        let context = &container["securityContext"];
        let wanted = capabilities(container);
        let inspected = self.podman(&["inspect", NAME])?;
        let inspected: Value = serde_json::from_str(&inspected)?;
        let inspected = &inspected[0];
        let effective = inspected["EffectiveCaps"].as_array().into_iter().flatten();
        let mut effective: Vec<&str> = effective
            .filter_map(|name| name.as_str().map(|name| name.trim_start_matches("CAP_")))
            .collect();
        effective.sort_unstable();
        ensure!(effective == wanted, "podman gives {effective:?}, the chart {wanted:?}");
        let host = &inspected["HostConfig"];
        ensure!(host["ReadonlyRootfs"] == context["readOnlyRootFilesystem"], "read-only root");
        ensure!(host["NetworkMode"] == "host" && pod["hostNetwork"] == true, "the host's network");
        ensure!(host["PidMode"] == "host" && pod["hostPID"] == true, "the host's processes");
        let pid = inspected["State"]["Pid"].as_u64().context("no process")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim).with_context(|| format!("/proc/{pid}/status has no {name}"))
        };
        for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
            let bits = u64::from_str_radix(field(set)?, 16)?;
            ensure!(bits == bits_of(&wanted)?, "{set} {bits:x}, the chart gives {wanted:?}");
        }
        ensure!(context["allowPrivilegeEscalation"] == false && field("NoNewPrivs:")? == "1");
        // 2: a filter of system calls.
        ensure!(context["seccompProfile"]["type"] == "RuntimeDefault" && field("Seccomp:")? == "2");
        let user = field("Uid:")?.split('\t').next().unwrap_or_default();
        ensure!(context["runAsUser"] == user.parse::<u32>()?, "user {user}");
        let writable = writable(pid)?;
        ensure!(writable.is_empty(), "the container may write to {writable:?}");
        let rights = if wanted.is_empty() { "no capability".into() } else { wanted.join(", ") };
        println!("container: user {user}, {rights}; it may write nothing");
        Ok(())
    }

    /// With packets and calls off, the chart's pod is an ordinary user's.
    fn runs_without_rights(&self) -> Result<()> {
        let manifests = objects(&render(&["sources.packets=false", "sources.calls=false"])?)?;
        let pod = pod(&manifests)?;
        let off = ["sources.packets=false", "sources.calls=false"];
        let agent = self.start_pod(pod, &off)?;
        self.has_the_pods_rights(pod)?;
        drop(agent);
        Ok(())
    }

    /// The init container puts the plugin on the host, also where an older one is; it needs no capability.
    fn places_the_plugin(&self) -> Result<()> {
        let manifests = objects(&render(PLACES_PROFILER)?)?;
        let pod = pod(&manifests)?;
        let container = &pod["initContainers"][0];
        let context = &container["securityContext"];
        let user = &context["runAsUser"];
        ensure!(capabilities(container).is_empty() && context["readOnlyRootFilesystem"] == true);
        let volumes = pod["volumes"].as_array().context("no volumes")?;
        let volume = volumes.iter().find(|one| one["hostPath"]["path"] == "/opt/railscope");
        let mount = &container["volumeMounts"][0];
        ensure!(volume.context("no volume for the plugin")?["name"] == mount["name"], "{mount}");
        let at = mount["mountPath"].as_str().context("a mount has no path")?;
        let host = folder().join("opt");
        fs::create_dir_all(&host)?;
        let placed = host.join("libnccl-profiler-railscope.so");
        fs::write(&placed, "an older one")?;
        let arguments = container["args"].as_array().context("no arguments")?;
        let arguments = arguments.iter().filter_map(Value::as_str);
        let (user, volume) = (format!("{user}:{user}"), format!("{}:{at}", host.display()));
        let mut all = vec!["run", "--rm", "--network", "none", "--read-only", "--cap-drop", "all"];
        all.extend(["--security-opt", "no-new-privileges", "--user", &user, "--volume", &volume]);
        let image = self.image()?;
        all.push(&image);
        all.extend(arguments);
        self.podman(&all)?;
        let plugin =
            fs::read(folder().join("files/usr/lib/railscope/libnccl-profiler-railscope.so"));
        ensure!(fs::read(&placed)? == plugin?, "{} is not the plugin", placed.display());
        println!("container: the plugin is on the host");
        Ok(())
    }

    /// A job, seen by the pod's container and by an agent outside.
    fn compare(&self, fabric: &Fabric, outside: &str) -> Result<()> {
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            let [inside, outside] = self.watch(fabric, outside)?;
            if lost(&inside) + lost(&outside) > 0 {
                continue;
            }
            let (one, other) = (facts(&inside), facts(&outside));
            ensure!(one == other, "inside:\n{one:#}\noutside:\n{other:#}");
            let ranks = inside["communicators"][0]["ranks"].as_array().map_or(0, Vec::len);
            ensure!(ranks == 4, "{ranks} of 4 ranks: {}", inside["communicators"]);
            println!(
                "container: the same report as outside: {ranks} ranks, {} training steps, {} queue pairs",
                count(&inside, "iterations"),
                count(&inside, "queue_pairs")
            );
            return Ok(());
        }
        anyhow::bail!("packets were lost in each of {TRIES} jobs");
    }

    fn watch(&self, fabric: &Fabric, outside: &str) -> Result<[Value; 2]> {
        let taps = ["taps.interfaces=[\"port*\"]", "otlp.interval=\"500ms\""];
        let pod = pod(&self.manifests)?;
        let inside = self.start_pod(pod, &taps)?;
        eventually("the agent in the container starts", || inside.get("/readyz").is_some());
        self.has_the_pods_rights(pod)?;
        let outside = Agent::start(outside, &taps);
        for mut rank in fabric.drive(JOB) {
            ensure!(rank.wait()?.success(), "a rank fails");
        }
        let frames = |report: &Value| {
            report["capture"]["roce_frames"].as_u64().unwrap_or_default() + lost(report)
        };
        // Both have everything when nothing comes any more.
        let mut before = (0, 0);
        eventually("both agents report the whole job", || {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            let now = (frames(&inside.report()), frames(&outside.report()));
            std::mem::replace(&mut before, now) == now && now.0 == now.1 && now.0 > 0
        });
        let reports = [inside.report(), outside.report()];
        outside.stop();
        self.podman(&["rm", "--force", "--time", "5", NAME])?;
        Ok(reports)
    }

    /// The pod's container, as the chart describes it, with further settings.
    fn start_pod(&self, pod: &Value, settings: &[&str]) -> Result<Agent> {
        let container = &pod["containers"][0];
        let mut podman = program("podman");
        podman.envs(self.settings.iter().cloned());
        podman.args(["run", "--rm", "--name", NAME, "--network", "host", "--pid", "host"]);
        podman.args([
            "--read-only",
            "--read-only-tmpfs=false",
            "--security-opt",
            "no-new-privileges",
        ]);
        let user = &container["securityContext"]["runAsUser"];
        podman.args(["--user", &format!("{user}:{user}"), "--cap-drop", "all"]);
        for capability in capabilities(container) {
            podman.args(["--cap-add", capability]);
        }
        for (at, from) in self.mounts(pod)? {
            podman.args(["--volume", &format!("{}:{at}:ro", from.display())]);
        }
        podman.arg(self.image()?);
        let arguments = container["args"].as_array().context("the pod has no arguments")?;
        let arguments = arguments.iter().filter_map(Value::as_str).map(|argument| {
            argument.replace("$(NODE_NAME)", "node17").replace("$(NODE_ADDRESS)", "127.0.0.1")
        });
        let arguments: Vec<String> = arguments.collect();
        ensure!(arguments.first().is_some_and(|first| first == "agent"), "{arguments:?}");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        // The testbed adds `agent` and the address of the pages.
        let mut all: Vec<String> = Vec::new();
        for argument in arguments.into_iter().skip(1) {
            match argument.strip_prefix("--set=") {
                Some(setting) if setting.starts_with("prometheus.listen=") => {}
                Some(setting) => all.push(setting.to_owned()),
                None => ensure!(argument == "--config=/etc/railscope/collector.toml"),
            }
        }
        all.extend(settings.iter().map(|&setting| setting.to_owned()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Ok(Agent::begin_at(podman, address, &all))
    }

    /// Where each volume is mounted, and what it is on this machine.
    fn mounts(&self, pod: &Value) -> Result<BTreeMap<String, PathBuf>> {
        let volumes = pod["volumes"].as_array().context("the pod has no volumes")?;
        let mounts = pod["containers"][0]["volumeMounts"].as_array().context("no mounts")?;
        let mut all = BTreeMap::new();
        for mount in mounts {
            ensure!(mount["readOnly"] == true, "{mount} is writable");
            let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]);
            let volume = volume.with_context(|| format!("no volume for {mount}"))?;
            let from = match volume["hostPath"]["path"].as_str() {
                // This machine has no kubelet.
                Some(path) if path.starts_with("/var/log") => folder().join(&path[1..]),
                Some(path) => PathBuf::from(path),
                None => self.settings_folder()?,
            };
            fs::create_dir_all(&from)?;
            let at = mount["mountPath"].as_str().context("a mount has no path")?;
            all.insert(at.to_owned(), from);
        }
        Ok(all)
    }

    /// The files of the ConfigMap.
    fn settings_folder(&self) -> Result<PathBuf> {
        let map = self.manifests.iter().find(|object| object["kind"] == "ConfigMap");
        let files = map.and_then(|map| map["data"].as_object()).context("no ConfigMap")?;
        let into = folder().join("configmap");
        fs::create_dir_all(&into)?;
        for (name, text) in files {
            fs::write(into.join(name), text.as_str().unwrap_or_default())?;
        }
        Ok(into)
    }
}

/// Bits of these capabilities (linux/capability.h).
fn bits_of(names: &[&str]) -> Result<u64> {
    let bit = |name: &str| {
        Ok(match name {
            "DAC_READ_SEARCH" => 2,
            "NET_ADMIN" => 12,
            "NET_RAW" => 13,
            "SYS_PTRACE" => 19,
            "SYS_ADMIN" => 21,
            "PERFMON" => 38,
            "BPF" => 39,
            other => anyhow::bail!("the check does not know CAP_{other}"),
        })
    };
    names.iter().map(|name| Ok(1_u64 << bit(name)?)).sum()
}

/// Mount points that a process may write to, beyond those that any container has.
fn writable(pid: u64) -> Result<Vec<String>> {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mounts"))?;
    let is_known = |point: &str| MAY_WRITE.iter().any(|known| Path::new(point).starts_with(known));
    let mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let writable = mounts.filter_map(|mount| {
        let (point, options) = (mount.get(1)?, mount.get(3)?);
        (options.split(',').any(|option| option == "rw") && !is_known(point))
            .then(|| (*point).to_owned())
    });
    Ok(writable.collect())
}

fn count(report: &Value, list: &str) -> usize {
    report[list].as_array().map_or(0, Vec::len)
}

fn lost(report: &Value) -> u64 {
    let taps = report["taps"].as_array().into_iter().flatten();
    taps.filter_map(|tap| tap["lost_frames"].as_u64()).sum()
}

/// What two agents at the same interfaces must agree on.
fn facts(report: &Value) -> Value {
    let each = |list: &Value, keys: &[&str]| -> Vec<Value> {
        let all = list.as_array().into_iter().flatten();
        all.map(|one| keys.iter().map(|key| one[key].clone()).collect()).collect()
    };
    let ranks = report["communicators"].as_array().into_iter().flatten();
    let ranks: Vec<_> = ranks.map(|one| each(&one["ranks"], &["rank", "address"])).collect();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for one in report["collectives"].as_array().into_iter().flatten() {
        *kinds.entry(format!("{} {}", one["kind"], one["bytes"])).or_default() += 1;
    }
    let late = report["iterations"].as_array().into_iter().flatten();
    let late: Vec<_> = late.map(|one| one["straggler"]["rank"].clone()).collect();
    let mut pairs = each(&report["queue_pairs"], &["address", "qpn", "packets", "retransmitted"]);
    pairs.sort_by_key(ToString::to_string);
    json!({
        "frames": report["capture"]["roce_frames"],
        "ranks": ranks,
        "collectives": kinds,
        "iterations": each(&report["iterations"], &["iteration", "complete", "collectives", "bytes"]),
        "late": late,
        "queue_pairs": pairs,
    })
}
