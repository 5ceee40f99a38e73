//! The page's content security policy: nothing is loaded, and only the page's own style and script
//! are accepted, by their hashes.

/// SHA-256 of `page.css`, in Base64.
const STYLE: &str = "IJb49G66nmDGG48FhOu/7DG1tNx5jve0E1Sk+J0DD8g=";

/// SHA-256 of `page.js`, in Base64.
const SCRIPT: &str = "LiGRPdUP/aKOVGLPLgoRr/aI89Wx6u77aY8nPDRGMBw=";

/// The value of `Content-Security-Policy`.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{STYLE}'; script-src 'sha256-{SCRIPT}'; \
         base-uri 'none'; form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::super::{PAGE_SCRIPT, PAGE_STYLE};
    use super::{SCRIPT, STYLE};

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
            let bits = a << 16 | b << 8 | c;
            for at in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
                text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
            }
        }
        text
    }

    #[test]
    fn the_hashes_are_those_of_the_files() {
        for (known, text) in [(STYLE, PAGE_STYLE), (SCRIPT, PAGE_SCRIPT)] {
            assert_eq!(known, base64(&Sha256::digest(text)), "the file changed: use the new hash");
        }
    }
}
