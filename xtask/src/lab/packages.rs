//! Packages as apt names them: `apt-get --print-uris`.

use anyhow::{Context, Result, ensure};

/// One package to download.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    /// As it lies in apt's archives, version included.
    pub(super) file: String,
    pub(super) bytes: u64,
    /// `ALGORITHM:DIGITS`, from the archive's signed index.
    pub(super) checksum: String,
}

/// Reads lines of `'ADDRESS' FILE BYTES CHECKSUM`.
pub(super) fn parse_uris(listing: &str) -> Result<Vec<Package>> {
    let lines = listing.lines().filter(|line| line.starts_with('\''));
    let packages: Vec<_> = lines.map(parse_uri).collect::<Result<_>>()?;
    ensure!(!packages.is_empty(), "apt names no package to download");
    Ok(packages)
}

fn parse_uri(line: &str) -> Result<Package> {
    let parse = || {
        let mut words = line.split(' ').skip(1);
        let file = words.next()?.to_owned();
        let bytes = words.next()?.parse().ok()?;
        let checksum = words.next().unwrap_or_default().to_owned();
        Some(Package { file, bytes, checksum })
    };
    parse().with_context(|| format!("unreadable line of apt-get --print-uris: {line}"))
}

#[cfg(test)]
mod tests {
    use super::{Package, parse_uris};

    #[test]
    fn lines_of_packages_are_read() {
        let listing = "'http://m/debian/pool/main/k/kmod/kmod_34.2-2_amd64.deb' \
            kmod_34.2-2_amd64.deb 95704 SHA256:ab01\nNOTE: something else\n";
        let kmod = Package {
            file: "kmod_34.2-2_amd64.deb".into(),
            bytes: 95704,
            checksum: "SHA256:ab01".into(),
        };
        assert_eq!(parse_uris(listing).unwrap(), [kmod]);
    }

    #[test]
    fn what_is_no_package_is_an_error() {
        assert!(parse_uris("").is_err());
        assert!(parse_uris("'http://m/x' x many\n").is_err());
    }
}
