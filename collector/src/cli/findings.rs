//! `railscope findings`: explains findings, and prints the example settings file.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::terminal;
use crate::export::text::paragraph;
use railscope_core::analysis::finding::catalog;
use railscope_core::analysis::finding::kind::Kind;
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

impl FindingsArgs {
    fn chosen(&self) -> anyhow::Result<Vec<&'static Kind>> {
        let known = |name: &String| catalog::ALL.iter().copied().find(|kind| kind.id == name);
        if let Some(name) = self.names.iter().find(|name| known(name).is_none()) {
            bail!("unknown finding `{name}`; `railscope findings` lists all");
        }
        let is_chosen =
            |kind: &&Kind| self.names.is_empty() || self.names.iter().any(|name| name == kind.id);
        Ok(catalog::ALL.iter().copied().filter(is_chosen).collect())
    }
}

fn write(kinds: &[&Kind], format: Format, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Markdown {
        writeln!(out, "# Findings\n")?;
        writeln!(out, "What railscope can find: meaning, threshold, remedy.")?;
        writeln!(out, "Printed by `railscope findings --format markdown`.")?;
    }
    let width = terminal::width();
    for (at, kind) in kinds.iter().enumerate() {
        let needs: Vec<&str> = kind.needs.iter().map(|need| words::need::name(*need)).collect();
        let needs = needs.join(", or ");
        match format {
            Format::Markdown => {
                writeln!(out, "\n## `{}`\n\n{}\n", kind.id, kind.about)?;
                writeln!(out, "* **When:** {}", kind.threshold)?;
                writeln!(out, "* **Needs:** {needs}.")?;
                writeln!(out, "* **Do:** {}", kind.remedy)?;
            }
            Format::Text => {
                let gap = if at == 0 { "" } else { "\n" };
                writeln!(out, "{gap}{}", kind.id)?;
                for (name, text) in [
                    ("", kind.about),
                    ("When: ", kind.threshold),
                    ("Needs: ", needs.as_str()),
                    ("Do: ", kind.remedy),
                ] {
                    writeln!(out, "{}", paragraph(&format!("{name}{text}"), width))?;
                }
            }
        }
    }
    Ok(())
}
