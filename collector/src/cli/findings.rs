//! `railscope findings`: explains findings and causes, and prints the example settings file.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::terminal;
use crate::export::text::paragraph;
use railscope_core::analysis::finding::catalog;
use railscope_core::analysis::finding::kind::Kind;
use railscope_core::analysis::finding::log_cause::{self, Depth, LogCause};
use railscope_core::report::words;

/// Options of `railscope findings`, as typed.
#[derive(Args)]
pub(super) struct FindingsArgs {
    /// Findings to explain [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print an example settings file instead: every key with its default and its purpose
    #[arg(long, conflicts_with_all = ["names", "format"])]
    config_example: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a terminal
    Text,
    /// A documentation page
    Markdown,
}

/// Every setting, with its default.
const CONFIG_EXAMPLE: &str = include_str!("../../collector.example.toml");

pub(super) fn run(args: &FindingsArgs) -> anyhow::Result<()> {
    let mut out = BufWriter::new(anstream::stdout().lock());
    let written = if args.config_example {
        write!(out, "{CONFIG_EXAMPLE}")
    } else {
        write(&args.chosen()?, args.format, &mut out)
    };
    written.and_then(|()| out.flush()).context("write to standard output")
}

/// A finding, or a cause that logs name, to be explained.
#[derive(Clone, Copy)]
enum Entry {
    Kind(&'static Kind),
    Cause(&'static LogCause),
}

impl FindingsArgs {
    fn chosen(&self) -> anyhow::Result<Vec<Entry>> {
        let all = || {
            let causes = log_cause::ALL.iter().map(|cause| Entry::Cause(cause));
            catalog::ALL.iter().map(|kind| Entry::Kind(kind)).chain(causes)
        };
        if let Some(name) = self.names.iter().find(|name| all().all(|one| one.id() != *name)) {
            bail!("unknown finding `{name}`; `railscope findings` lists all");
        }
        let is_chosen = |entry: &Entry| {
            self.names.is_empty() || self.names.iter().any(|name| name == entry.id())
        };
        Ok(all().filter(is_chosen).collect())
    }
}

impl Entry {
    const fn id(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.id,
            Self::Cause(cause) => cause.id,
        }
    }

    /// What it means, and paragraphs with their names.
    fn paragraphs(self) -> (String, Vec<(&'static str, String)>) {
        match self {
            Self::Kind(kind) => {
                let needs: Vec<&str> =
                    kind.needs.iter().map(|need| words::need::name(*need)).collect();
                let needs = needs.join(", or ");
                let paragraphs = vec![
                    ("When", kind.threshold.to_owned()),
                    ("Needs", format!("{needs}.")),
                    ("Do", kind.remedy.to_owned()),
                ];
                (kind.about.to_owned(), paragraphs)
            }
            Self::Cause(cause) => {
                let severity = cause.severity.name();
                let severity = match cause.depth {
                    Depth::Root => format!("{severity}."),
                    Depth::Effect => format!("{severity}; information beneath a deeper cause."),
                    Depth::Echo => format!("{severity}; information beneath any other cause."),
                };
                let paragraphs = vec![
                    ("Severity", severity),
                    ("Not to be confused with", cause.unlike.to_owned()),
                    ("Do", cause.remedy.to_owned()),
                    ("Source", format!("{}.", cause.source)),
                ];
                (format!("{}.", cause.what), paragraphs)
            }
        }
    }

    const fn lines(self) -> &'static [&'static str] {
        match self {
            Self::Kind(_) => &[],
            Self::Cause(cause) => cause.lines,
        }
    }
}

fn write(entries: &[Entry], format: Format, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Markdown {
        writeln!(out, "# Findings\n")?;
        writeln!(out, "What railscope can find: meaning, threshold, remedy.")?;
        writeln!(out, "Printed by `railscope findings --format markdown`.")?;
    }
    let width = terminal::width();
    let mut is_first_cause = true;
    for (at, entry) in entries.iter().enumerate() {
        let (about, paragraphs) = entry.paragraphs();
        let is_cause = matches!(entry, Entry::Cause(_));
        match format {
            Format::Markdown => {
                if is_cause && std::mem::take(&mut is_first_cause) {
                    writeln!(out, "\n# Causes that logs name\n")?;
                    writeln!(
                        out,
                        "Each is proven by a line of a log. The deepest comes first, and what"
                    )?;
                    writeln!(out, "follows from it is beneath it.")?;
                }
                writeln!(out, "\n## `{}`\n\n{about}\n", entry.id())?;
                if !entry.lines().is_empty() {
                    writeln!(out, "```text")?;
                    for line in entry.lines() {
                        writeln!(out, "{line}")?;
                    }
                    writeln!(out, "```\n")?;
                }
                for (name, text) in paragraphs {
                    writeln!(out, "* **{name}:** {text}")?;
                }
            }
            Format::Text => {
                let gap = if at == 0 { "" } else { "\n" };
                writeln!(out, "{gap}{}", entry.id())?;
                writeln!(out, "{}", paragraph(&about, width))?;
                for line in entry.lines() {
                    writeln!(out, "{}", paragraph(&format!("Line: {line}"), width))?;
                }
                for (name, text) in paragraphs {
                    writeln!(out, "{}", paragraph(&format!("{name}: {text}"), width))?;
                }
            }
        }
    }
    Ok(())
}
