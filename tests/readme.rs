//! The documents show what the program prints.
//!
//! Every `console` block of `README.md` and `docs/` is run in a folder that has `tests` and the
//! recorded job [`JOB`] as `job`. `INSTA_UPDATE=always` rewrites the blocks, as for goldens.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::recording::Recording;

/// The job of the picture and of `docs/reading-the-screen.md`.
const JOB: &str = "loss1pct-2.27.5";

const PICTURE: &str = "docs/analyze.svg";

const BLOCK: &str = "```console\n";

/// How the README runs the program before it is installed.
const CARGO_RUN: &str = "cargo run --release -- ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A folder for the documents' commands.
struct Stage {
    folder: tempfile::TempDir,
    _job: Recording,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let job = Recording::unpack(JOB);
        symlink(root().join("tests"), folder.path().join("tests")).unwrap();
        symlink(job.folder(), folder.path().join("job")).unwrap();
        Self { folder, _job: job }
    }

    /// The output of `command`.
    fn output(&self, command: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_railscope")).parent().unwrap();
        let mut path = vec![program.to_owned()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let command = command.replace(CARGO_RUN, "railscope ");
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(self.folder.path())
            .env("PATH", env::join_paths(path).unwrap())
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The document with the current output of every command.
    fn refreshed(&self, document: &str) -> String {
        let mut pieces = document.split(BLOCK);
        let mut refreshed = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let (block, rest) = piece.split_once("```").unwrap();
            refreshed.push_str(BLOCK);
            for prompt in block.lines().filter(|line| line.starts_with("$ ")) {
                refreshed.push_str(&format!("{prompt}\n{}", self.output(&prompt[2..])));
            }
            refreshed.push_str("```");
            refreshed.push_str(rest);
        }
        refreshed
    }
}

fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).unwrap();
    let mut documents: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.push(root().join("README.md"));
    documents.sort();
    documents
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the same switch as for insta's goldens")]
fn commands_print_what_the_documents_show() {
    let stage = Stage::new();
    let mut blocks = 0;
    for path in documents() {
        let document = fs::read_to_string(&path).unwrap();
        blocks += document.matches(BLOCK).count();
        let refreshed = stage.refreshed(&document);
        if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            fs::write(&path, refreshed).unwrap();
        } else {
            assert_eq!(document, refreshed, "{}", path.display());
        }
    }
    assert!(blocks > 3, "{blocks} blocks");
}

#[test]
fn the_picture_shows_what_the_program_prints() {
    let svg = fs::read_to_string(root().join(PICTURE)).unwrap();
    let (_, text) = svg.split_once("<text ").unwrap();
    let output = Stage::new().output("cd job && COLUMNS=100 railscope analyze *.pcap");
    let mut printed = output.lines();
    let shown: Vec<String> = text.split("<tspan x=").skip(1).map(plain).collect();
    assert!(shown.len() > 10, "{shown:?}");
    for line in shown.iter().filter(|line| *line != "..." && !line.starts_with("$ ")) {
        assert!(printed.any(|printed| printed == line), "run cargo xtask picture: {line}");
    }
}

/// The text of one line of the picture; the line begins within a tag.
fn plain(line: &str) -> String {
    let line = line.lines().next().unwrap();
    let parts = line.split('<').map(|part| part.split_once('>').unwrap().1);
    let text: String = parts.collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
