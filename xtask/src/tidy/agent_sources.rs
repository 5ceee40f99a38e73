//! Every source of the agent is a folder of one shape, in the list of sources, and has a test.

use std::collections::BTreeSet;

use super::tree::{File, Problem, Tree};

const FOLDER: &str = "collector/src/agent/source/";
const LIST: &str = "collector/src/agent/source/mod.rs";
const TESTS: &str = "tests/agent/source/";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let names = tree.files.iter().filter_map(|file| {
        let (name, _) = file.path.strip_prefix(FOLDER)?.split_once('/')?;
        Some(name)
    });
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().flat_map(|name| check_source(tree, name)).collect()
}

fn check_source(tree: &Tree, name: &str) -> Vec<Problem> {
    let module = format!("{FOLDER}{name}/mod.rs");
    let wanted = [
        (module.as_str(), "impl Source for ", "implement `Source` here".to_owned()),
        (&format!("{FOLDER}{name}/needs.rs"), "fn needs(", "say here what it needs".to_owned()),
        (LIST, &format!("&{name}::"), format!("add `{name}` to SOURCES")),
        (&format!("{TESTS}{name}.rs"), "#[test]", format!("test the source `{name}` here")),
    ];
    let lacks = wanted.into_iter().filter(|(path, text, _)| !has(&tree.files, path, text));
    lacks.map(|(path, _, message)| Problem { path: path.into(), line: None, message }).collect()
}

fn has(files: &[File], path: &str, text: &str) -> bool {
    files.iter().any(|file| file.path == path && file.text.contains(text))
}

#[cfg(test)]
mod tests {
    use super::super::tree::{File, Problem, Tree};
    use super::check;

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
        check(&Tree { files: files.iter().map(file).collect() })
            .iter()
            .map(Problem::to_string)
            .collect()
    }

    #[test]
    fn sources_have_one_shape() {
        let all = [
            ("collector/src/agent/source/mod.rs", "[&fans::Fans]"),
            ("collector/src/agent/source/beside.rs", ""),
            ("collector/src/agent/source/fans/mod.rs", "impl Source for Fans {"),
            ("collector/src/agent/source/fans/needs.rs", "pub(super) fn needs(host: &Host)"),
            ("tests/agent/source/fans.rs", "#[test]"),
        ];
        assert_eq!(said(&all), [""; 0]);
        for lacking in [0, 3, 4] {
            let mut files = all.to_vec();
            let (path, _) = files.remove(lacking);
            let said = said(&files);
            assert!(said.len() == 1 && said[0].starts_with(path), "{said:?}");
        }
    }
}
