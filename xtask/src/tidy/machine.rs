//! Nothing in the repository depends on one machine: no path of a home, no package registry, no
//! mirror of a distribution.

use super::tree::{Problem, Tree, numbered};

/// Concatenated at compile time, so that the check does not find this list.
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
/// Where mirrors keep the archive of a distribution.
const ARCHIVES: &[&str] = &["debian", "debian-security", "ubuntu"];
/// Top-level domains of made-up hosts (RFC 2606).
const MADE_UP: &[&str] = &[".example", ".invalid", ".test"];

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
            if names_mirror(text) {
                problems.push(file.problem_at(line, "take the mirror from apt's own sources"));
            }
        }
    }
    problems
}

fn is_machine_path(text: &str) -> bool {
    let starts_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    FOLDERS.iter().any(|folder| text.contains(folder)) || text.split(HOMES).skip(1).any(starts_name)
}

/// Whether a line names the host of a mirror: any host with a distribution's archive.
fn names_mirror(text: &str) -> bool {
    text.split("://").skip(1).any(is_archive)
}

/// Whether an address without its scheme is that of an archive, on a host that is not made up.
fn is_archive(address: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ')' | '>' | '\\');
    let address = address.split(ends).next().unwrap_or_default();
    let mut segments = address.split('/').filter(|segment| !segment.is_empty());
    let host = segments.next().unwrap_or_default();
    let (archive, next) = (segments.next(), segments.next());
    // A host without a domain is made up, too.
    host.contains('.')
        && !MADE_UP.iter().any(|domain| host.ends_with(domain))
        && archive.is_some_and(|archive| ARCHIVES.contains(&archive))
        && matches!(next, None | Some("dists" | "pool"))
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, HOMES, REGISTRIES, check};
    use crate::tidy::tree::said;

    #[test]
    fn machines_and_registries_are_not_named() {
        assert_eq!(said(check, "a.md", &format!("see {}x\n", FOLDERS[0])).len(), 1);
        assert_eq!(said(check, "a.md", &format!("see {HOMES}x\n")).len(), 1);
        assert_eq!(said(check, "a.md", &format!("see {HOMES}<name>\n")), [""; 0]);
        assert_eq!(said(check, "a.md", &format!("see {}\n", REGISTRIES[0])).len(), 1);
    }

    #[test]
    fn mirrors_are_not_named() {
        let said = |text: &str| said(check, "a.rs", text).len();
        let archive = |host: &str, rest: &str| format!("deb http://{host}/{}{rest}\n", "debian");
        assert_eq!(said(&archive("mirror.site.net", " sid main")), 1);
        assert_eq!(said(&archive("mirror.site.net", "/pool/main/x.deb\"")), 1);
        assert_eq!(said(&archive("mirror.site.net", "/tree/main")), 0);
        assert_eq!(said(&archive("mirror.example", " sid main")), 0);
    }

    #[test]
    fn lock_files_name_their_source() {
        let lock = format!("source = \"registry+index.{}\"\n", REGISTRIES[0]);
        assert_eq!(said(check, "Cargo.lock", &lock), [""; 0]);
        assert_eq!(said(check, "a.toml", &lock).len(), 1);
    }
}
