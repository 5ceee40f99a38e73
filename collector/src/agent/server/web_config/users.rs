//! Users, and the bcrypt hashes of their passwords.

use std::collections::BTreeMap;

use serde_norway::{Mapping, Value};

/// Most users.
const MOST: usize = 1000;

/// Costs of a hash: each one more doubles the time. 15 takes some seconds; 4 is the least of bcrypt.
const COSTS: std::ops::RangeInclusive<u32> = 4..=15;

/// Hashes by user.
#[derive(Debug, Default)]
pub struct Users(BTreeMap<String, String>);

impl Users {
    pub(super) fn new(keys: Mapping) -> Result<Self, String> {
        if keys.len() > MOST {
            return Err(format!("basic_auth_users has more than {MOST} users"));
        }
        keys.iter().map(|(user, hash)| one(user, hash)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether no password is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hash to compare with, and whether there is such a user: for others it is the hash of someone else,
    /// so that the time of a refusal does not tell who has a password.
    pub(in crate::agent::server) fn hash(&self, user: &str) -> Option<(&str, bool)> {
        let known = self.0.get(user);
        let hash = known.or_else(|| self.0.values().next())?;
        Some((hash, known.is_some()))
    }
}

fn one(user: &Value, hash: &Value) -> Result<(String, String), String> {
    let user = user.as_str().filter(|user| !user.is_empty() && !user.contains(':'));
    let user = user.ok_or("basic_auth_users: a user's name is text without a colon")?;
    let hash = hash.as_str().unwrap_or_default();
    match hash.parse::<bcrypt::HashParts>().map(|parts| parts.get_cost()) {
        Ok(cost) if COSTS.contains(&cost) => Ok((user.to_owned(), hash.to_owned())),
        Ok(cost) => Err(format!(
            "basic_auth_users.{user}: cost {cost} is not supported: write one from {} to {}, as in `htpasswd -nBC \
             10 {user}`",
            COSTS.start(),
            COSTS.end()
        )),
        Err(_) => Err(format!(
            "basic_auth_users.{user}: not a bcrypt hash: `htpasswd -nBC 10 {user}` makes one"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of "secret".
    const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

    fn users(yaml: &str) -> Result<Users, String> {
        Users::new(serde_norway::from_str(yaml).unwrap())
    }

    #[test]
    fn hashes_are_checked_when_they_are_read() {
        assert!(users(&format!("prometheus: {HASH}")).is_ok());
        for (yaml, said) in [
            ("a: secret".to_owned(), "basic_auth_users.a: not a bcrypt hash"),
            ("a: 1".to_owned(), "basic_auth_users.a: not a bcrypt hash"),
            (format!("a: {}", HASH.replace("$05$", "$20$")), "cost 20 is not supported"),
            (format!("\"a:b\": {HASH}"), "without a colon"),
        ] {
            let problem = users(&yaml).unwrap_err();
            assert!(problem.contains(said), "{yaml}: {problem}");
        }
    }

    #[test]
    fn a_user_that_is_not_there_costs_as_much() {
        let users = users(&format!("prometheus: {HASH}")).unwrap();
        assert_eq!(users.hash("prometheus"), Some((HASH, true)));
        assert_eq!(users.hash("root"), Some((HASH, false)));
        assert_eq!(Users::default().hash("root"), None);
    }
}
