//! OpenTelemetry's variables (specification, "OpenTelemetry Protocol Exporter"), as overrides of the
//! file. The caller looks up their values.

use super::reader::Override;

/// Variables, and the keys that they set.
const VARIABLES: [(&str, &str); 3] = [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "otlp.endpoint"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "otlp.protocol"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "otlp.headers"),
];

/// `OTEL_METRIC_EXPORT_INTERVAL` is in milliseconds.
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";
/// `true` disables the export.
const DISABLED: &str = "OTEL_SDK_DISABLED";

/// The overrides from variables; `variable` looks one up. Empty ones count as not set, as the
/// specification says.
pub fn overrides(variable: impl Fn(&str) -> Option<String>) -> Vec<Override> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let given = |name: &str, key: &str, value: String| Override {
        name: name.to_owned(),
        key: key.to_owned(),
        value,
    };
    let same = VARIABLES.iter().filter_map(|(name, key)| {
        let value = set(name)?;
        let value = if *key == "otlp.headers" { headers(&value) } else { value };
        Some(given(name, key, value))
    });
    let interval =
        set(INTERVAL).map(|value| given(INTERVAL, "otlp.interval", format!("{}ms", value.trim())));
    let is_disabled = set(DISABLED).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let disabled = is_disabled.then(|| given(DISABLED, "otlp.enabled", "false".to_owned()));
    same.chain(interval).chain(disabled).collect()
}

/// Converts `name=value,name=value`, with percent-encoded values, to a TOML table.
fn headers(text: &str) -> String {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let entries = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (name.trim(), decoded(value.trim()));
        format!("{} = {}", quoted(name), quoted(&value))
    });
    format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Decodes percent-encoding; invalid sequences stay as they are.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let value =
            digits.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
