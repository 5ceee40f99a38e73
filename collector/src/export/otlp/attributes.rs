//! Attributes in the protocol's types.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// Collects attributes; unknown values are omitted.
#[derive(Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn text(&mut self, key: &str, text: impl Into<String>) -> &mut Self {
        self.push(key, Value::StringValue(text.into()))
    }

    pub(super) fn known_text(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.text(key, text);
        }
        self
    }

    pub(super) fn number(&mut self, key: &str, number: impl Into<u64>) -> &mut Self {
        self.push(key, Value::IntValue(integer(number.into())))
    }

    pub(super) fn known(&mut self, key: &str, number: Option<impl Into<u64>>) -> &mut Self {
        if let Some(number) = number {
            self.number(key, number);
        }
        self
    }

    pub(super) fn flag(&mut self, key: &str, flag: bool) -> &mut Self {
        self.push(key, Value::BoolValue(flag))
    }

    /// Nanoseconds as seconds.
    pub(super) fn seconds(&mut self, key: &str, nanos: Option<u64>) -> &mut Self {
        if let Some(nanos) = nanos {
            self.push(key, Value::DoubleValue(nanos as f64 / 1e9));
        }
        self
    }

    pub(super) fn texts(
        &mut self,
        key: &str,
        texts: impl IntoIterator<Item = String>,
    ) -> &mut Self {
        let values =
            texts.into_iter().map(|text| AnyValue { value: Some(Value::StringValue(text)) });
        self.push(key, Value::ArrayValue(ArrayValue { values: values.collect() }))
    }

    pub(super) fn take(&mut self) -> Vec<KeyValue> {
        std::mem::take(&mut self.0)
    }

    fn push(&mut self, key: &str, value: Value) -> &mut Self {
        let value = Some(AnyValue { value: Some(value) });
        self.0.push(KeyValue { key: key.to_owned(), value, ..KeyValue::default() });
        self
    }
}

/// The protocol has only signed integers.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
