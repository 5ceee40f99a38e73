//! `--fail-on`: which change is too much.

use std::fmt;

use anyhow::bail;

use railscope_core::compare::Comparison;
use railscope_core::compare::measure;

/// What makes the command fail.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FailOn {
    /// Training steps take longer.
    Slower,
    /// Anything measured differs.
    Different,
    /// A row changed by this share or more; with its sign.
    Beyond { measure: String, share: f64 },
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slower => f.write_str("slower"),
            Self::Different => f.write_str("different"),
            Self::Beyond { measure, share } => write!(f, "{measure}={:+}%", share * 100.0),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<FailOn, String> {
    let wrong = || {
        format!(
            "`{text}` is neither slower nor different nor ROW=+N% or ROW=-N%, such as step_time=+3%"
        )
    };
    match text {
        "slower" => return Ok(FailOn::Slower),
        "different" => return Ok(FailOn::Different),
        _ => {}
    }
    let (measure, change) = text.split_once('=').ok_or_else(wrong)?;
    let has_sign = change.starts_with(['+', '-']);
    let number = change.strip_suffix('%').filter(|_| has_sign).ok_or_else(wrong)?;
    let percent: f64 = number.trim().parse().map_err(|_| wrong())?;
    if measure.is_empty() || !percent.is_finite() || percent == 0.0 {
        return Err(wrong());
    }
    Ok(FailOn::Beyond { measure: measure.to_owned(), share: percent / 100.0 })
}

impl FailOn {
    /// Whether it is met; the inner error says why that is not known.
    ///
    /// # Errors
    ///
    /// When there is no row of that name.
    pub(super) fn judge(&self, comparison: &Comparison) -> anyhow::Result<Result<bool, String>> {
        let (measure, share) = match self {
            Self::Slower => return Ok(Ok(comparison.is_slower())),
            Self::Different => return Ok(Ok(comparison.has_difference())),
            Self::Beyond { measure, share } => (measure, *share),
        };
        let Some(row) = comparison.row(measure) else {
            if measure::names().contains(measure) {
                // It is 0 in all training steps of both sides, or neither side shows it.
                return Ok(Ok(false));
            }
            let rows = comparison.answer.iter().chain(&comparison.rows);
            let names: Vec<&str> = rows.map(|row| row.measure.as_str()).collect();
            bail!("--fail-on {self}: no row `{measure}`; there are {}", names.join(", "));
        };
        if row.is_shown() {
            // From nothing to something is more than any share.
            let change = row.relative.or(row.change.map(|change| change * f64::INFINITY));
            let change = change.unwrap_or(0.0);
            return Ok(Ok(if share > 0.0 { change >= share } else { change <= share }));
        }
        let Some(change) = row.change else {
            return Ok(Err("one side does not show it".to_owned()));
        };
        match row.smallest_relative {
            Some(least) if least > share.abs() => Ok(Err(format!(
                "this much data shows changes of {:.1} % or more: more training steps are needed",
                least * 100.0
            ))),
            None if row.smallest.is_none() && change != 0.0 => {
                Ok(Err("it is not 0 in too few training steps".to_owned()))
            }
            _ => Ok(Ok(false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_limits() {
        assert_eq!(parse("slower"), Ok(FailOn::Slower));
        let limit = FailOn::Beyond { measure: "step_time".to_owned(), share: 0.03 };
        assert_eq!(parse("step_time=+3%"), Ok(limit.clone()));
        assert_eq!(limit.to_string(), "step_time=+3%");
        for wrong in
            ["", "faster?", "step_time", "step_time=3%", "step_time=+3", "=+3%", "a=+0%", "a=+x%"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
