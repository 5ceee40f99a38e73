//! Which credentials were right, and which were wrong a moment ago. It holds no password, only HMACs. Their
//! key is random and is gone when the process ends.

use std::collections::VecDeque;

use ring::hmac::{self, HMAC_SHA256, Key, Tag};
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::{Choice, ConstantTimeEq as _};

use super::credentials::Credentials;

/// Right ones are few; a flood of wrong ones takes no place of them.
const RIGHT: usize = 256;
const WRONG: usize = 64;

#[derive(Debug)]
pub(super) struct Memory {
    key: Key,
    right: VecDeque<Tag>,
    wrong: VecDeque<Tag>,
}

impl Default for Memory {
    fn default() -> Self {
        let mut secret = [0; 32];
        // The kernel's random numbers cannot fail once it has started, and HMACs never leave this process.
        _ = SystemRandom::new().fill(&mut secret);
        let key = Key::new(HMAC_SHA256, &secret);
        Self { key, right: VecDeque::new(), wrong: VecDeque::new() }
    }
}

impl Memory {
    /// The HMAC of credentials and of the hash that they are compared with: with another hash they must be
    /// verified anew.
    pub(super) fn seal(&self, given: &Credentials, hash: &str) -> Tag {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [given.user.as_bytes(), &given.password, hash.as_bytes()] {
            context.update(&part.len().to_le_bytes());
            context.update(part);
        }
        context.sign()
    }

    /// Whether these were right; `None` if that is not known. Its time does not depend on the HMAC.
    pub(super) fn recall(&self, seal: &Tag) -> Option<bool> {
        let is_in = |tags: &VecDeque<Tag>| -> bool {
            let found = tags.iter().map(|tag| tag.as_ref().ct_eq(seal.as_ref()));
            found.fold(Choice::from(0), |any, one| any | one).into()
        };
        match (is_in(&self.right), is_in(&self.wrong)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    pub(super) fn remember(&mut self, seal: Tag, is_right: bool) {
        let (tags, most) = match is_right {
            true => (&mut self.right, RIGHT),
            false => (&mut self.wrong, WRONG),
        };
        tags.push_back(seal);
        if tags.len() > most {
            tags.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_ones_do_not_push_out_right_ones() {
        let mut memory = Memory::default();
        let given = |password: &str| Credentials {
            user: "a".to_owned(),
            password: password.as_bytes().to_vec(),
        };
        let right = memory.seal(&given("right"), "hash");
        memory.remember(right, true);
        for number in 0..1000 {
            let seal = memory.seal(&given(&number.to_string()), "hash");
            memory.remember(seal, false);
        }
        assert_eq!(memory.recall(&right), Some(true));
        assert_eq!(memory.recall(&memory.seal(&given("999"), "hash")), Some(false));
        assert_eq!(memory.recall(&memory.seal(&given("0"), "hash")), None, "forgotten");
        assert_eq!(memory.recall(&memory.seal(&given("right"), "other hash")), None);
    }
}
