//! Which Debian mirror the host itself uses.

use std::process::Command;

/// Where no source of the host names one.
const DEFAULT: &str = "http://deb.debian.org/debian";

/// The mirror of the host's apt sources, in whichever form they are written.
pub(super) fn of_host() -> String {
    let targets =
        Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]).output();
    let listing = targets.map(|output| output.stdout).unwrap_or_default();
    debian_in(&String::from_utf8_lossy(&listing)).unwrap_or(DEFAULT).to_owned()
}

/// The first address that ends as those of Debian's main archive do.
fn debian_in(addresses: &str) -> Option<&str> {
    let mut addresses = addresses.lines().map(|line| line.trim().trim_end_matches('/'));
    addresses.find(|address| address.ends_with("/debian"))
}

#[cfg(test)]
mod tests {
    use super::debian_in;

    #[test]
    fn the_main_archive_is_found_among_others() {
        let addresses = "https://packages.example/apt/\nhttp://deb.debian.org/debian-security/\n\
            http://mirror.example/debian/\nhttp://other.example/debian/\n";
        assert_eq!(debian_in(addresses), Some("http://mirror.example/debian"));
        assert_eq!(debian_in("http://archive.ubuntu.com/ubuntu/\n"), None);
    }
}
