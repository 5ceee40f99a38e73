//! What was delivered.

use serde::{Deserialize, Serialize};

/// What a receiver took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Spans of the job.
    pub spans: u64,
    /// Those of them that arrived.
    pub delivered: u64,
    /// Whether the last values of the metrics arrived, or none were wanted.
    pub has_metrics: bool,
    /// The latest error.
    pub trouble: Option<String>,
}

impl Delivery {
    /// Whether something did not arrive.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.delivered < self.spans || !self.has_metrics
    }

    /// One line for the user.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { spans, delivered, has_metrics, trouble } = self;
        if !self.is_partial() {
            return format!("otlp: sent {spans} spans");
        }
        let mut text = format!("otlp: {} of {spans} spans", spans.saturating_sub(*delivered));
        if !has_metrics {
            text.push_str(" and the metrics");
        }
        text.push_str(" were not delivered");
        if let Some(trouble) = trouble {
            text.push_str(": ");
            text.push_str(trouble);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Delivery;

    #[test]
    fn what_is_missing_is_said() {
        let all = Delivery { spans: 7, delivered: 7, has_metrics: true, trouble: None };
        assert_eq!(all.text(), "otlp: sent 7 spans");
        let trouble = Some("connection refused".to_owned());
        let some = Delivery { delivered: 2, has_metrics: false, trouble, ..all.clone() };
        assert_eq!(
            some.text(),
            "otlp: 5 of 7 spans and the metrics were not delivered: connection refused"
        );
        assert!(some.is_partial() && !all.is_partial());
    }
}
