//! Trees of files, each described by a text in `trees/`.
//!
//! A line is `PATH = TEXT` (a file), `PATH += LINE` (a further line of it), `PATH -> TARGET` (a link), or
//! `PATH = hex:SIZE AT=BYTE ...` (bytes, 0 elsewhere). Lines between `each` and `end` are repeated: `{n}` is
//! replaced by the values of `n`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use railscope::doctor::fact::{Facts, Wanted};
use railscope::doctor::tree::Tree;

/// Names of all trees.
pub(super) const NAMES: &[&str] =
    &["mlx5_roce_8", "infiniband", "bnxt", "efa", "dgx_spark", "vm_rxe", "container"];

/// Files in a temporary folder.
pub(super) struct Files(tempfile::TempDir);

impl Files {
    /// The files of a tree.
    pub(super) fn of(name: &str) -> Self {
        Self::with(name, &[])
    }

    /// The files of a tree, and then these lines.
    pub(super) fn with(name: &str, lines: &[&str]) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/doctor/trees").join(name);
        let text = fs::read_to_string(path.with_extension("tree")).unwrap();
        let files = Self(tempfile::tempdir().unwrap());
        for line in expanded(&text).iter().map(String::as_str).chain(lines.iter().copied()) {
            files.add(line);
        }
        files
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// What is known of this node.
    pub(super) fn facts(&self, variables: &[(&str, &str)]) -> Facts {
        let text: String =
            variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let file = self.path().join("variables");
        fs::write(&file, text).unwrap();
        let wanted = Wanted { environment_files: vec![file], ..Wanted::default() };
        Facts::read(&Tree::new(self.path()), &wanted)
    }

    fn at(&self, path: &str) -> PathBuf {
        let path = self.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn add(&self, line: &str) {
        if let Some((path, target)) = line.split_once(" -> ") {
            // What a link leads to must be there, or its name alone counts.
            return symlink(target, self.at(path)).unwrap();
        }
        if let Some((path, more)) = line.split_once(" += ") {
            let text = fs::read_to_string(self.at(path)).unwrap();
            return fs::write(self.at(path), format!("{text}{more}\n")).unwrap();
        }
        if let Some(path) = line.strip_prefix("delete ") {
            let path = self.at(path);
            return if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                .unwrap();
        }
        let (path, text) = line.split_once(" =").unwrap_or_else(|| panic!("{line}"));
        let text = text.strip_prefix(' ').unwrap_or(text);
        match text.strip_prefix("hex:") {
            Some(bytes) => fs::write(self.at(path), hex(bytes)).unwrap(),
            None if text == "{}" => fs::create_dir_all(self.at(path)).unwrap(),
            None => fs::write(self.at(path), format!("{text}\n")).unwrap(),
        }
    }
}

/// Values by name, for one repetition.
type Round = BTreeMap<String, String>;

fn hex(text: &str) -> Vec<u8> {
    let mut words = text.split(' ');
    let mut bytes = vec![0; words.next().unwrap().parse().unwrap()];
    for (at, byte) in words.map(|word| word.split_once('=').unwrap()) {
        let at = usize::from_str_radix(at, 16).unwrap();
        bytes[at] = u8::from_str_radix(byte, 16).unwrap();
    }
    bytes
}

fn expanded(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut repeated: Option<(Vec<Round>, Vec<&str>)> = None;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if let Some(values) = line.strip_prefix("each ") {
            repeated = Some((rounds(values), Vec::new()));
        } else if line == "end" {
            let (rounds, body) = repeated.take().unwrap();
            for round in rounds {
                lines.extend(body.iter().map(|line| filled(line, &round)));
            }
        } else if let Some((_, body)) = &mut repeated {
            body.push(line);
        } else {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// `n=0,1 bus=4b,98`: values may hold spaces, names hold none.
fn rounds(text: &str) -> Vec<Round> {
    let mut lists: Vec<(String, String)> = Vec::new();
    for word in text.split(' ') {
        match word.split_once('=') {
            Some((name, values)) => lists.push((name.to_owned(), values.to_owned())),
            None => lists.last_mut().unwrap().1.push_str(&format!(" {word}")),
        }
    }
    let count = lists[0].1.split(',').count();
    let round = |at: usize| {
        lists
            .iter()
            .map(|(name, values)| (name.clone(), values.split(',').nth(at).unwrap().to_owned()))
            .collect()
    };
    (0..count).map(round).collect()
}

fn filled(line: &str, round: &Round) -> String {
    round
        .iter()
        .fold(line.to_owned(), |line, (name, value)| line.replace(&format!("{{{name}}}"), value))
}
