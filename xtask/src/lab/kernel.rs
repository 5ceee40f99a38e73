//! Which kernel the suite has: its package names its release.

use anyhow::{Context, Result};

/// The packages of the kernel that `depends`, what `apt-cache depends linux-image-amd64` printed,
/// leads to.
pub(super) fn packages(depends: &str) -> Result<[String; 2]> {
    let release = release(depends).with_context(|| {
        format!("no kernel release in what apt-cache depends printed: {}", depends.trim())
    })?;
    Ok([format!("linux-binary-{release}"), format!("linux-modules-{release}")])
}

fn release(depends: &str) -> Option<&str> {
    let mut names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let release = names.find_map(|name| name.strip_prefix("linux-image-"))?;
    release.starts_with(|c: char| c.is_ascii_digit()).then_some(release)
}

#[cfg(test)]
mod tests {
    use super::packages;

    #[test]
    fn the_release_is_in_the_name_of_the_image() {
        let depends = "linux-image-amd64\n  Depends: linux-base-amd64\n  \
            Depends: linux-image-7.3.4+deb13-amd64\n  Depends: linux-modules-amd64\n";
        assert_eq!(
            packages(depends).unwrap(),
            ["linux-binary-7.3.4+deb13-amd64", "linux-modules-7.3.4+deb13-amd64"]
        );
        assert!(packages("linux-image-amd64\n").is_err());
    }
}
