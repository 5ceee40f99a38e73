//! Nothing in the repository depends on one machine: no path of a home, no package registry.

use super::{Problem, Tree, numbered};

/// Put together at compile time, so that this list does not find itself.
const FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/")];
const HOMES: &str = concat!("/ho", "me/");
const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("ruby", "gems.org"),
    concat!("proxy.go", "lang.org"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let is_lock = file.path.ends_with("Cargo.lock");
        for (line, text) in numbered(&file.text) {
            // Cargo writes where each package came from.
            if is_lock && text.starts_with("source = ") {
                continue;
            }
            if is_machine_path(text) {
                problems.push(file.problem_at(line, "name the path relative to the repository"));
            }
            if REGISTRIES.iter().any(|host| text.contains(host)) {
                problems.push(file.problem_at(line, "name the package, not a registry's host"));
            }
        }
    }
    problems
}

fn is_machine_path(text: &str) -> bool {
    let starts_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    FOLDERS.iter().any(|folder| text.contains(folder)) || text.split(HOMES).skip(1).any(starts_name)
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, HOMES, REGISTRIES, check};
    use crate::tidy::tests::said;

    #[test]
    fn machines_and_registries_are_not_named() {
        assert_eq!(said(check, "a.md", &format!("see {}x\n", FOLDERS[0])).len(), 1);
        assert_eq!(said(check, "a.md", &format!("see {HOMES}x\n")).len(), 1);
        assert_eq!(said(check, "a.md", &format!("see {HOMES}<name>\n")), [""; 0]);
        assert_eq!(said(check, "a.md", &format!("see {}\n", REGISTRIES[0])).len(), 1);
    }

    #[test]
    fn lock_files_name_their_source() {
        let lock = format!("source = \"registry+index.{}\"\n", REGISTRIES[0]);
        assert_eq!(said(check, "Cargo.lock", &lock), [""; 0]);
        assert_eq!(said(check, "a.toml", &lock).len(), 1);
    }
}
