//! The order of layers within a crate, which Cargo does not check: each names only what the table
//! allows.

use super::source::{code, identifiers, line_of};
use super::tree::{File, Problem, Tree};

/// Where layers are folders: the core, and the edges around it.
const ROOTS: &[&str] = &["collector/core/src/", "collector/src/"];

/// The core, in the order data flows: each layer may name those before it.
const CORE: &[&str] =
    &["model", "decode", "flow", "link", "analysis", "report", "compare", "metrics", "pipeline"];

/// The edges, and what each may name besides itself.
const EDGES: &[(&str, &[&str])] = &[
    // How people write times, sizes and rates: options and settings use it.
    ("units", &[]),
    // Foreign text made harmless: whatever writes text uses it.
    ("printable", &[]),
    // A Unix socket at a path: whoever listens there uses it.
    ("socket_file", &[]),
    // Freed memory, given back to the kernel.
    ("heap", &[]),
    // One file of everything: it names no file of its own accord.
    ("bundle", &[]),
    // Names, addresses and keys replaced: bytes and lines in, bytes and lines out.
    ("scrub", &["model", "decode"]),
    // What a recording waits for: options and settings name it.
    ("trigger", &["analysis"]),
    // What the settings file says.
    ("config", &["analysis", "trigger", "units"]),
    // Which packets are meant: their headers, and what a report knows of them.
    ("filter", &["model", "decode", "flow", "report", "units"]),
    // They deliver bytes and events; decode understands them.
    ("ingest", &["model"]),
    // Captures reduced to what is judged: what was read on one host, to be judged on another.
    ("part", &["model", "pipeline"]),
    // They read live sources into the pipeline, and ask it for reports.
    ("live", &["model", "analysis", "report", "pipeline", "ingest"]),
    // It examines a node with the readers of live sources; lines of the kernel's log mean what they mean in any log.
    ("doctor", &["model", "decode", "link", "analysis", "report", "ingest", "printable"]),
    // They write down what the core found out, and what is wrong with a node; the screen shows the rows that a
    // filter selects.
    ("export", &["model", "report", "compare", "metrics", "filter", "printable", "doctor"]),
    // Hosts measure each other, and judge what they found.
    ("ping", &[]),
    // It keeps frames, and saves them when a trigger says so, with what an analysis knows of them.
    (
        "record",
        &[
            "model",
            "decode",
            "flow",
            "analysis",
            "report",
            "pipeline",
            "trigger",
            "filter",
            "ingest",
            "export",
            "socket_file",
        ],
    ),
    // It composes everything but the command line, which starts it.
    (
        "agent",
        &[
            "model",
            "decode",
            "flow",
            "link",
            "analysis",
            "report",
            "metrics",
            "pipeline",
            "trigger",
            "config",
            "filter",
            "ingest",
            "live",
            "export",
            "record",
            "units",
            "printable",
            "socket_file",
            "heap",
        ],
    ),
    (
        "cli",
        &[
            "model",
            "decode",
            "flow",
            "link",
            "analysis",
            "report",
            "compare",
            "metrics",
            "pipeline",
            "trigger",
            "config",
            "filter",
            "ingest",
            "live",
            "doctor",
            "export",
            "record",
            "ping",
            "agent",
            "bundle",
            "part",
            "scrub",
            "units",
            "printable",
            "heap",
        ],
    ),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let inside = ROOTS.iter().find_map(|root| file.path.strip_prefix(root));
    let Some(inner) = inside.and_then(|path| path.strip_suffix(".rs")) else {
        return Vec::new();
    };
    // The roots of the library and of the binary stand above the layers.
    if inner == "lib" || inner == "main" {
        return Vec::new();
    }
    let layer = inner.split('/').next().unwrap_or(inner);
    let Some(allowed) = allowed(layer) else {
        let fix = format!("`{layer}` is no layer: move the file, or add it to xtask's layers.rs");
        return vec![file.problem(fix)];
    };
    let depth = inner.split('/').filter(|&part| part != "mod").count();
    let code = code(&file.text);
    root_paths(&code, depth)
        .filter(|(_, named)| is_layer(named) && *named != layer && !allowed.contains(named))
        .map(|(offset, named)| {
            let may = if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
            let fix = format!(
                "`{layer}` must not name `{named}` (it may name {may}): pass the value in, or move \
                 what is shared to a layer before both"
            );
            file.problem_at(line_of(&code, offset), fix)
        })
        .collect()
}

/// What `layer` may name besides itself; `None` when there is no such layer.
fn allowed(layer: &str) -> Option<&'static [&'static str]> {
    let core = CORE.iter().position(|&name| name == layer).map(|index| &CORE[..index]);
    core.or_else(|| EDGES.iter().find(|(edge, _)| *edge == layer).map(|&(_, allowed)| allowed))
}

fn is_layer(name: &str) -> bool {
    allowed(name).is_some()
}

/// The names that stand directly under the library's root in `code`, with their offsets: `x` in
/// `crate::x`, in `railscope_core::{x, y}`, and after as many `super::` as the module is deep.
fn root_paths(code: &str, depth: usize) -> impl Iterator<Item = (usize, &str)> {
    let starts = identifiers(code).filter_map(move |(range, word)| {
        let continues_a_path = code[..range.start].trim_end().ends_with("::");
        let tail = path_tail(code, range.end)?;
        match word {
            "crate" | "railscope" | "railscope_core" => Some(tail),
            "super" if !continues_a_path => after_supers(code, tail, depth - 1),
            _ => None,
        }
    });
    starts.flat_map(|start| heads(code, start))
}

/// Where the path goes on after `::`, if it does.
fn path_tail(code: &str, end: usize) -> Option<usize> {
    let rest = code[end..].trim_start().strip_prefix("::")?;
    Some(code.len() - rest.trim_start().len())
}

/// Where the path goes on after at least `supers` more `super::`. A module written inside the file
/// is one deeper, so one too many still reaches the root.
fn after_supers(code: &str, mut start: usize, supers: usize) -> Option<usize> {
    let mut seen = 0;
    while code[start..].starts_with("super") {
        let Some(tail) = path_tail(code, start + "super".len()) else { break };
        start = tail;
        seen += 1;
    }
    (seen >= supers).then_some(start)
}

/// The first identifier of each path at `start`: one, or those of a `{..}` list.
fn heads(code: &str, start: usize) -> Vec<(usize, &str)> {
    let Some(list) = code[start..].strip_prefix('{') else {
        let first = identifiers(&code[start..]).next().filter(|(range, _)| range.start == 0);
        return first.map(|(_, word)| (start, word)).into_iter().collect();
    };
    let mut depth = 1;
    let mut at_head = true;
    let mut found = Vec::new();
    for (offset, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_head = true,
            c if at_head && !c.is_whitespace() => {
                found.extend(
                    identifiers(&list[offset..]).next().map(|(_, w)| (start + 1 + offset, w)),
                );
                at_head = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    /// Layers that a file at `path` must not name, but does.
    fn named(path: &str, text: &str) -> Vec<String> {
        let problems = said(check, &format!("collector/{path}"), text);
        problems.iter().map(|p| p.split('`').nth(3).unwrap_or(p).to_owned()).collect()
    }

    #[test]
    fn a_layer_names_only_layers_before_it() {
        assert_eq!(
            named("core/src/flow/mod.rs", "use crate::decode::X; use crate::model::Y;"),
            [""; 0]
        );
        assert_eq!(named("core/src/decode/roce/bth.rs", "use crate::flow::X;"), ["flow"]);
        assert_eq!(named("core/src/pipeline.rs", "fn f(x: railscope::ingest::X) {}"), ["ingest"]);
        assert_eq!(
            named(
                "src/ingest/pcap.rs",
                "use railscope_core::{\n  decode::{self, X},\n  model::Y,\n};"
            ),
            ["decode"]
        );
        assert_eq!(named("core/src/analysis/finding/loss.rs", "use crate::analysis::X;"), [""; 0]);
    }

    #[test]
    fn super_reaches_the_root() {
        assert_eq!(named("core/src/decode/packet.rs", "use super::super::flow::X;"), ["flow"]);
        assert_eq!(named("core/src/decode/packet.rs", "use super::flow::X;"), [""; 0]);
        assert_eq!(named("core/src/decode/mod.rs", "use super::flow::X;"), ["flow"]);
        assert_eq!(
            named("core/src/decode/mod.rs", "mod tests { use super::super::flow::X; }"),
            ["flow"]
        );
    }

    #[test]
    fn comments_and_roots_are_free() {
        assert_eq!(
            named("core/src/model/mod.rs", "//! See [`crate::report`].\npub(crate) fn f() {}"),
            [""; 0]
        );
        assert_eq!(named("src/main.rs", "use railscope::cli;"), [""; 0]);
    }

    #[test]
    fn an_unknown_folder_is_a_question() {
        let lines = said(check, "collector/src/stuff/mod.rs", "");
        assert!(lines[0].contains("`stuff` is no layer"), "{lines:?}");
    }
}
