//! The Debian mirror that this machine's apt uses.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

/// How apt marks the address of a file that lists mirrors, as Debian's cloud images have it.
const LIST: &str = "mirror+file:";

/// The mirror of apt's sources, whether or not apt has fetched its lists yet.
///
/// # Errors
/// No apt, or no Debian mirror in its sources.
pub(crate) fn of_host() -> Result<String> {
    let mut apt = Command::new("apt-get");
    let output = apt.args(["update", "--print-uris"]).output().context("start apt-get")?;
    let repository = repository_in(&String::from_utf8_lossy(&output.stdout))
        .context("apt's sources name no Debian mirror")?;
    let Some(path) = repository.strip_prefix(LIST) else { return Ok(repository) };
    let list = fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    first_listed(&list).with_context(|| format!("{path} names no Debian mirror"))
}

/// The first repository of Debian's main archive among the addresses that apt prints.
fn repository_in(uris: &str) -> Option<String> {
    let repositories = uris.lines().filter_map(|line| {
        let (repository, _) = line.strip_prefix('\'')?.split_once("/dists/")?;
        Some(repository.trim_end_matches('/'))
    });
    let mut main = repositories.filter(|repository| {
        repository.ends_with("/debian")
            || (repository.starts_with(LIST) && repository.ends_with("/debian.list"))
    });
    main.next().map(str::to_owned)
}

/// The first mirror of a file of them: an address a line, options after it.
fn first_listed(list: &str) -> Option<String> {
    let mut addresses = list.lines().filter_map(|line| line.split_whitespace().next());
    let address = addresses.find(|word| !word.starts_with('#'))?.trim_end_matches('/');
    address.ends_with("/debian").then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{first_listed, repository_in};

    #[test]
    fn the_main_archive_is_found_among_others() {
        let uris = "'https://packages.example/apt/dists/x/InRelease' packages_InRelease 0 \n\
            'http://mirror.example/debian-security/dists/x/InRelease' security_InRelease 0 \n\
            'http://mirror.example/debian//dists/x/InRelease' mirror_InRelease 0 \n\
            'http://other.example/debian/dists/x/InRelease' other_InRelease 0 \n";
        assert_eq!(repository_in(uris).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(repository_in("'http://mirror.example/ubuntu/dists/x/InRelease' x 0\n"), None);
        assert_eq!(repository_in(""), None);
    }

    #[test]
    fn a_list_of_mirrors_is_one_too() {
        let uris = "'mirror+file:/etc/apt/mirrors/debian.list/dists/x/InRelease' x_InRelease 0 \n";
        let list = "mirror+file:/etc/apt/mirrors/debian.list";
        assert_eq!(repository_in(uris).as_deref(), Some(list));
        let list = "# the nearest\nhttps://mirror.example/debian/\tpriority:1\n";
        assert_eq!(first_listed(list).as_deref(), Some("https://mirror.example/debian"));
        assert_eq!(first_listed("# none\n"), None);
    }
}
