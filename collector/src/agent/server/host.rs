//! Which names of this server a request may use. A page of the web can make a browser on this host ask any
//! address by a name of its own (DNS rebinding), and would read the answer.

use std::net::IpAddr;

use glob::Pattern;

/// The names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The host's own name; a domain may follow, unless only this host can reach the server.
    pub own: String,
    /// Whether only this host can reach the server.
    pub is_local: bool,
    /// Others, from the settings.
    pub others: Vec<Pattern>,
}

impl Names {
    /// Whether a `Host` header, with or without a port, names this server. Addresses always do: no name is
    /// resolved for them.
    #[must_use]
    pub fn allow(&self, header: &str) -> bool {
        let name = match header.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => header,
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        if bare.parse::<IpAddr>().is_ok() || header.parse::<IpAddr>().is_ok() {
            return true;
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let own = self.own.to_ascii_lowercase();
        let is_own = name == own || {
            let short = own.split('.').next().unwrap_or_default();
            let first = name.split('.').next().unwrap_or_default();
            !self.is_local && !short.is_empty() && first == short
        };
        name == "localhost" || is_own || self.others.iter().any(|one| one.matches(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_own_names_are_allowed() {
        let others = vec![Pattern::new("*.svc").unwrap()];
        let mut names = Names { own: "Node17".to_owned(), is_local: true, others };
        for host in [
            "127.0.0.1:9474",
            "10.0.0.7",
            "[::1]:9474",
            "[fe80::1]",
            "::1",
            "localhost",
            "LOCALHOST:9474",
            "node17",
            "NODE17:9474",
            "railscope.monitoring.svc:9474",
        ] {
            assert!(names.allow(host), "{host}");
        }
        for host in
            ["evil.example", "node17.evil.example:9474", "localhost.evil.example", "", "1.2.3.4.5"]
        {
            assert!(!names.allow(host), "{host}");
        }
        names.is_local = false;
        assert!(names.allow("node17.rack3.example:9474"));
        assert!(!names.allow("node18.rack3.example") && !names.allow("evil.example"));
    }
}
