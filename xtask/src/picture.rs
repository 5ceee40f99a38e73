//! `cargo xtask picture`: renders a run of the program as the picture at the top of the README.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anstyle_svg::{Term, WIN10_CONSOLE};
use anyhow::{Context, Result, ensure};

use crate::recording::Recording;
use crate::repository::{build_railscope, command, root};

/// The recorded job that the picture shows.
const JOB: &str = "tests/captures/loss1pct-2.27.5.tar.zst";

/// The SVG that the README embeds.
const PICTURE: &str = "docs/analyze.svg";

/// Columns of the pictured terminal: what fits the width of a README on a forge.
const COLUMNS: &str = "100";

const PROMPT: &str = "\x1b[1m$ railscope analyze *.pcap\x1b[0m";

/// Marks omitted paragraphs.
const GAP: &str = "\x1b[2m...\x1b[0m";

/// Starts the description of a training step.
const BULLET: char = '●';

/// The crate dims text by `opacity`, which browsers ignore on a part of a text.
const DIMMED: [&str; 2] = [".dimmed { opacity: 0.4; }", ".dimmed { fill-opacity: 0.75; }"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run this program instead of building one
    #[arg(long, value_name = "RAILSCOPE")]
    program: Option<PathBuf>,
}

/// `cargo xtask picture`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let railscope = match &options.program {
        Some(program) => std::path::absolute(program).context("find the program")?,
        None => build_railscope("dev")?,
    };
    let folder = root().join("target/picture");
    let names = unpack(&folder)?;
    let mut analyze = command(railscope);
    analyze.args(["--color", "always", "analyze"]).args(names);
    analyze.current_dir(&folder).env("COLUMNS", COLUMNS).stdin(Stdio::null());
    let output = analyze.output().context("start railscope")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{analyze:?}: {}: {}", output.status, said.trim());
    let text = String::from_utf8(output.stdout).context("the report is not UTF-8")?;
    fs::write(root().join(PICTURE), svg(&text)).with_context(|| format!("write {PICTURE}"))?;
    println!("{PICTURE}");
    Ok(ExitCode::SUCCESS)
}

/// Writes the captures of the job into `folder` and returns their names.
fn unpack(folder: &Path) -> Result<Vec<String>> {
    let job = Recording::read(&root().join(JOB))?;
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let write = |(name, bytes): (&str, &[u8])| {
        fs::write(folder.join(name), bytes).with_context(|| format!("write {name}"))?;
        Ok(name.to_owned())
    };
    job.captures().map(write).collect()
}

/// A dark terminal, which reads well on light and dark pages alike.
fn svg(report: &str) -> String {
    let terminal = Term::new()
        .palette(WIN10_CONSOLE)
        .fg_color(anstyle::RgbColor(0xe6, 0xed, 0xf3).into())
        .bg_color(anstyle::RgbColor(0x16, 0x1b, 0x22).into());
    let [unsupported, supported] = DIMMED;
    let svg = terminal.render_svg(&excerpt(report)).replace(unsupported, supported);
    scalable(&svg)
}

/// The findings, the training steps and the worst of these: what fits on a first screen.
fn excerpt(report: &str) -> String {
    let mut excerpt = PROMPT.to_owned();
    let mut last = 0;
    for (number, paragraph) in report.split("\n\n").enumerate() {
        let is_iterations =
            paragraph.lines().next().is_some_and(|line| line.contains("Training steps"));
        if number > 0 && !is_iterations {
            continue;
        }
        let separator = match number - last {
            0 => "\n".to_owned(),
            1 => "\n\n".to_owned(),
            _ => format!("\n{GAP}\n"),
        };
        excerpt.push_str(&separator);
        excerpt.push_str(if is_iterations { through_the_worst(paragraph) } else { paragraph });
        last = number;
    }
    excerpt
}

/// The table of training steps, and the description of the first one below it.
fn through_the_worst(iterations: &str) -> &str {
    let mut bullets = iterations.match_indices(BULLET).map(|(at, _)| at);
    let second = bullets.nth(1).and_then(|at| iterations.get(..at)?.rfind('\n'));
    second.and_then(|end| iterations.get(..end)).unwrap_or(iterations)
}

/// With a view box, so that a narrow page shows all of it, smaller.
fn scalable(svg: &str) -> String {
    let size = |key: &str| {
        let (_, rest) = svg.split_once(&format!("{key}=\""))?;
        rest.split_once("px\"").map(|(number, _)| number.to_owned())
    };
    match size("width").zip(size("height")) {
        Some((width, height)) => {
            svg.replacen("<svg ", &format!("<svg viewBox=\"0 0 {width} {height}\" "), 1)
        }
        None => svg.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{excerpt, scalable};

    #[test]
    fn omitted_paragraphs_leave_a_gap() {
        let shown = excerpt("a\n\nb\n\nTraining steps\n1\n\nc");
        assert!(shown.ends_with("\na\n\u{1b}[2m...\u{1b}[0m\nTraining steps\n1"), "{shown}");
        let shown = excerpt("a\n\nTraining steps\n1");
        assert!(shown.ends_with("\na\n\nTraining steps\n1"), "{shown}");
    }

    #[test]
    fn the_worst_training_step_is_shown() {
        let shown = excerpt("a\n\nTraining steps\n● 4\n  why\n\u{1b}[33m● 2\n  why");
        assert!(shown.ends_with("\n● 4\n  why"), "{shown}");
    }

    #[test]
    fn the_view_box_is_the_size() {
        assert_eq!(
            scalable("<svg width=\"7px\" height=\"9px\">"),
            "<svg viewBox=\"0 0 7 9\" width=\"7px\" height=\"9px\">"
        );
    }
}
