//! Values of headers, in the settings or in files of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::de::DeValue;

use super::setting::Setting;

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderSource {
    /// The value itself.
    Text(String),
    /// A file that has it; a relative path is below systemd's `$CREDENTIALS_DIRECTORY`.
    File(PathBuf),
}

impl Setting for BTreeMap<String, HeaderSource> {
    const WANTED: &'static str = "a table of names and strings, such as { Authorization = \"Bearer x\" }, or files, \
                                  such as { Authorization = { file = \"/etc/railscope/token\" } }";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let entries = value.as_table()?.iter();
        let entry = entries
            .map(|(name, value)| Some((name.get_ref().to_string(), source(value.get_ref())?)));
        entry.collect()
    }
}

fn source(value: &DeValue<'_>) -> Option<HeaderSource> {
    if let Some(text) = value.as_str() {
        return Some(HeaderSource::Text(text.to_owned()));
    }
    let table = value.as_table().filter(|table| table.len() == 1)?;
    let path = table.iter().find(|(name, _)| name.get_ref() == "file")?.1.get_ref().as_str()?;
    (!path.is_empty()).then(|| HeaderSource::File(path.into()))
}
