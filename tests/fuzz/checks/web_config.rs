//! A web configuration: any bytes, as the file.

use std::path::Path;

use railscope::agent::server::web_config::{Files, WebConfig};

/// Files that it names are not there.
const PATH: &str = "/nonexistent/railscope/web.yml";

/// Panics if an invariant does not hold.
pub fn check(bytes: &[u8]) {
    let read = || WebConfig::parse(bytes.to_vec(), Path::new(PATH), &mut Files::default());
    match (read(), read()) {
        (Ok(config), Ok(again)) => {
            let text = String::from_utf8_lossy(bytes);
            let has = |key: &str| text.contains(key);
            // YAML may escape any character of a key.
            let is_plain = !has("\\");
            let is_open = config.is_open();
            assert_eq!((is_open, config.scheme()), (again.is_open(), again.scheme()));
            assert!(is_open || !is_plain || has("basic_auth_users"), "nothing protects it");
            assert_eq!(config.has_clear_passwords(), !is_open, "without certificates");
            assert_eq!(config.scheme(), "http", "there is no certificate");
        }
        (Err(error), Err(again)) => {
            let error = error.to_string();
            assert_eq!(error, again.to_string());
            assert!(!error.is_empty());
        }
        _ => panic!("the file decides"),
    }
}
