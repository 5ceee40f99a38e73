//! OpenTelemetry's variables (specification, "OpenTelemetry Protocol Exporter"), as overrides of the
//! file. Which of them are set, the caller looks up.

use super::reader::Override;

/// Variables, and the keys that they set.
const VARIABLES: [(&str, &str); 3] = [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "otlp.endpoint"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "otlp.protocol"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "otlp.headers"),
];

/// `OTEL_METRIC_EXPORT_INTERVAL` is in milliseconds.
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";
/// Switches it off where it is `true`.
const DISABLED: &str = "OTEL_SDK_DISABLED";

/// The overrides that variables make; `variable` looks one up. Empty ones are as if not set, as the
/// specification has it.
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

/// `name=value,name=value`, with values in percent-encoding, as a table of TOML.
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

/// Without percent-encoding; what is none stays.
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
