//! Numbers as C's `printf` writes them.

/// `%g`: six significant digits, no trailing zeros.
pub(super) fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    format!("{}e{}", without_zeros(mantissa), signed(exponent))
}

/// As many decimals as fit into `width`, at most two: nccl-tests' `getFloatStr`.
pub(super) fn fitted(value: f64, width: usize) -> String {
    let fixed = (0..=2).rev().map(|decimals| format!("{value:width$.decimals$}"));
    fixed.into_iter().find(|text| text.len() <= width).unwrap_or_else(|| {
        let decimals = usize::from(width >= 7);
        let scientific = format!("{value:.decimals$e}");
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        format!("{mantissa}e{}", signed(exponent.parse().unwrap_or(0)))
    })
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// C writes a sign and at least two digits.
fn signed(exponent: i32) -> String {
    format!("{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::{fitted, general};

    #[test]
    fn as_printf_writes() {
        // printf '%g\n' for each of them.
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.148_148_148, "0.148148"),
            (123_456.7, "123457"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_012_345_67, "1.23457e-05"),
            (99.999_999, "100"),
        ];
        for (value, text) in cases {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn as_columns_have_room() {
        assert_eq!(fitted(6.21, 7), "   6.21");
        assert_eq!(fitted(12_345.678, 7), "12345.7");
        assert_eq!(fitted(123_456.7, 7), " 123457");
        assert_eq!(fitted(9_999_999.0, 7), "9999999");
        assert_eq!(fitted(123_456_789.0, 7), "1.2e+08");
        assert_eq!(fitted(1234.5, 6), "1234.5");
    }
}
