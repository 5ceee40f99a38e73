//! `railscope scrub`: captures, logs, counters and bundles, without names, addresses and keys.

mod captures;
mod check;
mod texts;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use self::captures::Captures;
use super::VERSION;
use super::bundle;
use super::config::KeptSettings;
use super::notice::notice;
use super::source::{Depth, SourceArgs};
use crate::bundle::manifest::{Host, Role};
use crate::bundle::read;
use crate::bundle::write::{Content, Head, Item};
use crate::export::json;
use crate::ingest::whole_file;
use crate::scrub::key::{KEY_BYTES, Key};
use crate::scrub::pseudonym::Pseudonyms;
use crate::scrub::text::{Unknown, words};
use railscope_core::report::words::number::counted;
use railscope_core::report::{Report, ReportContext};

/// Options of `railscope scrub`, as typed.
#[derive(Args)]
#[command(after_help = "\
The result is a bundle, which analyze reads as any other. It keeps only what railscope understood:
the rest of lines is gone, the rest of frames is zero. Addresses keep their prefixes (Crypto-PAn);
names, MACs, GUIDs, memory keys and virtual addresses become others, the same everywhere. What
could still identify somebody is listed at the end.

Examples:
  railscope scrub job.railscope.tar.zst -o vendor.railscope.tar.zst
  railscope scrub *.pcapng --nccl-log 'nccl.*.log' -o vendor.railscope.tar.zst
  railscope scrub --name acme --name llama-405b job.railscope.tar.zst -o vendor.railscope.tar.zst
  railscope scrub --key our.key job.railscope.tar.zst -o vendor.railscope.tar.zst")]
pub(super) struct ScrubArgs {
    /// The bundle to write, as vendor.railscope.tar.zst
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Keep no word that has this in it, in any case, and refuse the result if it is still there; may be
    /// repeated
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Vec<String>,
    /// File with the key that pseudonyms come from, made if it does not exist: with the same key, addresses in
    /// several results are the same; names are numbered anew. Without it, the key is thrown away
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    sources: SourceArgs,
}

impl ScrubArgs {
    /// Takes each file for what its content is.
    pub(super) fn recognise(&mut self) -> anyhow::Result<()> {
        self.sources.recognise()
    }
}

/// The exit code.
pub(super) fn run(args: &ScrubArgs) -> anyhow::Result<u8> {
    let given = args.sources.given()?;
    for (_, path, name) in &given {
        let is_pipe = fs::metadata(path).is_ok_and(|file| !file.is_file());
        ensure!(
            path != Path::new("-") && !is_pipe,
            "scrub reads each file twice, which {name} cannot be: write it to a file first"
        );
    }
    let target = fs::canonicalize(&args.output).ok();
    let is_input = |path: &Path| target.is_some() && fs::canonicalize(path).ok() == target;
    ensure!(
        !given.iter().map(|(_, path, _)| path).chain(args.sources.bundles()).any(|it| is_input(it)),
        "{} is one of the files to read: choose another --output",
        args.output.display()
    );
    let mut pseudonyms = Pseudonyms::new(key(args.key.as_deref())?);
    let is_key = |key: &PathBuf| fs::canonicalize(key).ok() == fs::canonicalize(&args.output).ok();
    ensure!(
        !args.key.as_ref().is_some_and(is_key),
        "{} is the file of the key: choose another --output",
        args.output.display()
    );
    bundle::check_place(&args.output)?;
    args.name.iter().for_each(|name| pseudonyms.names.refuse(name));
    let before = analyse(&args.sources)?;
    let kept = args.sources.config().kept()?;
    let mut captures = Captures::new(&given);
    // All texts twice: names are learned first.
    learn(&given, &kept, &mut pseudonyms)?;
    captures.learn(&before, &mut pseudonyms)?;
    ensure!(
        pseudonyms.names.number(),
        "these files have more names than scrub can replace: 65,536"
    );
    captures.rewrite_streams(&mut pseudonyms);
    let mut items = Vec::new();
    let mut left_out = Vec::new();
    for (number, (role, path, name)) in (1..).zip(&given) {
        match role {
            Role::Capture => items.push(captures.rewrite(path, number, &mut pseudonyms)?),
            role if texts::is_text(*role) => {
                let (item, dropped) = texts::rewrite(*role, path, number, &mut pseudonyms)?;
                if dropped > 0 {
                    notice(format!(
                        "{name}: {} removed, which railscope does not read",
                        counted(dropped, "line")
                    ));
                }
                items.push(item);
            }
            _ => left_out.push(name.clone()),
        }
    }
    items.extend(settings(&kept, &mut pseudonyms)?);
    ensure!(
        !pseudonyms.is_full(),
        "these files have more addresses, MAC addresses or GUIDs than scrub can search for: 262,144 of each"
    );
    write(args, items, (&before, &captures), &mut pseudonyms, &kept.set)?;
    captures.report();
    for name in left_out {
        notice(format!("{name} is left out: scrub does not rewrite such a file"));
    }
    notice(LEFT);
    Ok(0)
}

fn learn(
    given: &[(Role, PathBuf, String)],
    kept: &KeptSettings,
    pseudonyms: &mut Pseudonyms,
) -> anyhow::Result<()> {
    for (role, path, _) in given.iter().filter(|(role, ..)| texts::is_text(*role)) {
        texts::learn(*role, path, pseudonyms)?;
    }
    let _ = settings(kept, pseudonyms)?;
    let _ = overrides(&kept.set, pseudonyms);
    Ok(())
}

/// Settings, written anew: keys are railscope's own.
fn settings(kept: &KeptSettings, pseudonyms: &mut Pseudonyms) -> anyhow::Result<Vec<Item>> {
    let mut items = Vec::new();
    for (role, name, text) in
        [(Role::Config, "settings.toml", &kept.config), (Role::Rails, "rails.toml", &kept.rails)]
    {
        let Some(text) = text else { continue };
        let table: toml::Table = toml::from_str(text).context("read the settings")?;
        let mut value = toml::Value::Table(table);
        rename(&mut value, role == Role::Rails, pseudonyms);
        let toml::Value::Table(table) = value else { continue };
        let content = Content::Bytes(table.to_string().into_bytes());
        items.push(Item { role, name: name.to_owned(), content, written_ns: None });
    }
    Ok(items)
}

fn rename(value: &mut toml::Value, has_names: bool, pseudonyms: &mut Pseudonyms) {
    match value {
        toml::Value::String(text) => *text = words(text, Unknown::Name, pseudonyms),
        toml::Value::Array(all) => {
            all.iter_mut().for_each(|one| rename(one, has_names, pseudonyms));
        }
        toml::Value::Table(table) => {
            let old = std::mem::take(table);
            for (key, mut one) in old {
                rename(&mut one, has_names, pseudonyms);
                let key = if has_names { words(&key, Unknown::Name, pseudonyms) } else { key };
                table.insert(key, one);
            }
        }
        _ => {}
    }
}

/// `KEY=VALUE`, one a line: keys are railscope's own.
fn overrides(set: &str, pseudonyms: &mut Pseudonyms) -> String {
    let one = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        [key, "=", &words(value, Unknown::Name, pseudonyms)].concat()
    };
    set.lines().map(one).collect::<Vec<_>>().join("\n")
}

/// What no pseudonym hides.
const LEFT: &str = "\
still in it, and could identify somebody who knows the job or the cluster:
  times of frames and log lines, and time zones of log lines; TCP and UDP ports; TCP timestamps (how long hosts
  have been up); process and thread ids
  sizes, counts and order of messages: the shape of the model, of its batches and of the cluster; colours of splits
  identifications, flow labels, hop limits and DSCP of IP; VLANs, MPLS labels, tunnel ids, keys of GRE, sessions
  of ERSPAN
  queue pair numbers, PSNs, P_Keys, Q_Keys, immediate data, ids of connections of the connection manager
  link rates, device and interface names, PCI addresses
  releases of NCCL, CUDA and firmware; NCCL's settings as far as they are numbers or its own words; counters
  which addresses share a prefix, and whether they are private; distances and last bits of virtual addresses
  which messages begin alike; words of a store's keys that are the same, and their lengths
  NCCL's hashes of processes
  names that are words of NCCL's, such as node, or like a device's, and numbers, such as that of a job, in
  sentences of its log";

/// The bundle with its own report; then it is read again, compared and searched.
fn write(
    args: &ScrubArgs,
    mut items: Vec<Item>,
    (before, captures): (&Report, &Captures),
    pseudonyms: &mut Pseudonyms,
    set: &str,
) -> anyhow::Result<()> {
    let options = args.sources.options().chain(args.sources.label_options());
    let mut options: std::collections::BTreeMap<_, _> = options.collect();
    if !set.is_empty() {
        options.insert("set".to_owned(), overrides(set, pseudonyms));
    }
    let head = Head {
        tool: format!("railscope {VERSION}"),
        scrubbed: true,
        host: Host { name: "scrubbed".to_owned(), ..Host::default() },
        options,
    };
    // Not yet where the user wants it: what is not clean must not be there.
    let folder = args.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let draft = tempfile::Builder::new()
        .suffix(".railscope.tar.zst")
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .with_context(|| format!("write beside {}", args.output.display()))?;
    bundle::pack_quietly(draft.path(), head.clone(), &items)?;
    let mut again = SourceArgs::of(&[draft.path().to_owned()]);
    again.recognise()?;
    let after = analyse(&again)?;
    drop(again);
    let mut bytes = Vec::new();
    json::write(&after, &mut bytes).context("write the report")?;
    items.push(Item {
        role: Role::Report,
        name: "report.json".to_owned(),
        content: Content::Bytes(bytes),
        written_ns: None,
    });
    bundle::pack_quietly(draft.path(), head, &items)?;
    check::search(draft.path(), pseudonyms, captures)?;
    let differences = check::differences(before, &after, pseudonyms)?;
    bundle::announce(draft.path(), &args.output, items.len())?;
    fs::rename(draft.path(), &args.output)
        .with_context(|| format!("write {}", args.output.display()))?;
    notice(format!(
        "searched in all its members, as text, base64, hexadecimal digits and binary, and not found: {}, {}, {} \
         and {}, and the first {} virtual addresses and memory keys",
        counted(pseudonyms.names.originals().count() as u64, "name"),
        counted(pseudonyms.addresses().count() as u64, "address"),
        counted(pseudonyms.macs().count() as u64, "MAC address"),
        counted(pseudonyms.guids().count() as u64, "GUID"),
        captures::SEARCHED,
    ));
    match &differences[..] {
        [] => notice("its report is the same but for names"),
        some => notice(format!(
            "its report is not quite the same: {} values differ, such as {}",
            some.len(),
            some.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
        )),
    }
    Ok(())
}

fn analyse(sources: &SourceArgs) -> anyhow::Result<Report> {
    let depth = Depth { links: true, keeps_details: false };
    let options = sources.options().chain([("detail".to_owned(), "summary".to_owned())]).collect();
    let context = ReportContext { options, ..ReportContext::default() };
    Ok(sources.open()?.analyse(depth, None, context)?.report)
}

/// A name that is long enough not to stand in every word.
fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.chars().count() {
        0..3 => Err(format!("`{text}` stands in too many words: write at least 3 letters")),
        _ => Ok(text.to_owned()),
    }
}

/// The key in the file, which is made if it does not exist; without a file, a new one.
fn key(path: Option<&Path>) -> anyhow::Result<Key> {
    let Some(path) = path else { return random() };
    if let Ok(file) = fs::metadata(path) {
        if file.permissions().mode() & 0o077 != 0 {
            notice(format!(
                "{}: others may read this key, and test guesses of addresses with it: chmod 600 {0}",
                path.display()
            ));
        }
        let text = whole_file::read_start(path, 4 * KEY_BYTES)
            .with_context(|| format!("read {}", path.display()))?;
        return Key::parse(&String::from_utf8_lossy(&text)).with_context(|| {
            format!("key {}: it does not hold 64 hexadecimal digits", path.display())
        });
    }
    let key = random()?;
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| writeln!(file, "{}", key.text()))
        .with_context(|| format!("write {}", path.display()))?;
    notice(format!(
        "{}: a new key; who has it can test guesses of names and addresses",
        path.display()
    ));
    Ok(key)
}

fn random() -> anyhow::Result<Key> {
    let mut bytes = [0; KEY_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("read /dev/urandom")?;
    Ok(Key::new(bytes))
}

/// Calls `take` with all of a member, in windows that overlap.
fn windows(path: &Path, mut take: impl FnMut(usize, &[u8])) -> anyhow::Result<()> {
    const WINDOW: usize = 8 << 20;
    const OVERLAP: usize = 4096;
    let mut file = File::open(path)?;
    let mut window = Vec::new();
    let mut start = 0;
    loop {
        let kept = window.len().min(OVERLAP);
        start += window.len() - kept;
        window.drain(..window.len() - kept);
        let read = Read::by_ref(&mut file).take((WINDOW - kept) as u64).read_to_end(&mut window)?;
        if read == 0 {
            return Ok(());
        }
        take(start, &window);
    }
}

/// All members of a bundle, the report included.
fn unpack(path: &Path) -> anyhow::Result<read::Bundle> {
    read::unpack(path, |_| true).with_context(|| format!("bundle {}", path.display()))
}
