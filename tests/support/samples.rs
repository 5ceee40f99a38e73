//! Values of a text for scrapes, and of a database that scraped it.

use std::collections::BTreeMap;

use railscope_testbed::data_base::Series;

/// The values of a text for scrapes, by name and labels as written.
pub fn lines(text: &str) -> BTreeMap<String, f64> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// Series and values of a text for scrapes; labels are not unescaped.
pub fn samples(text: &str) -> Vec<(Series, f64)> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (of, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = of.split_once('{').unwrap_or((of, ""));
            let labels = labels.trim_end_matches('}').split("\",").filter(|one| !one.is_empty());
            let labels = labels.map(|one| {
                let (name, value) = one.split_once("=\"").unwrap();
                (name.to_owned(), value.trim_end_matches('"').to_owned())
            });
            let name = ("__name__".to_owned(), name.to_owned());
            (labels.chain([name]).collect(), value.parse().unwrap())
        })
        .collect()
}

/// Checks that the stored values are the expected ones. Extra labels, those of the resource or of
/// the scraper, are ignored.
#[track_caller]
pub fn hold_the_same(held: &[(Series, f64)], expected: &[(Series, f64)]) {
    let ours: Vec<&String> = expected.iter().flat_map(|(series, _)| series.keys()).collect();
    let mut others: BTreeMap<Series, f64> = held
        .iter()
        .map(|(series, value)| {
            let kept =
                series.iter().filter(|(name, value)| ours.contains(name) && !value.is_empty());
            (kept.map(|(name, value)| (name.clone(), value.clone())).collect(), *value)
        })
        .collect();
    for (series, value) in expected {
        let known: Series = series
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        let known = others.remove(&known).unwrap_or_else(|| panic!("{series:?} is not stored"));
        // VictoriaMetrics keeps decimals: Unix times come back one binary place off.
        let is_same = (known - value).abs() <= value.abs() * f64::EPSILON;
        assert!(is_same, "{series:?}: {known}, not {value}");
    }
    assert!(others.is_empty(), "unexpected series: {others:#?}");
}
