//! Links of boards and panels.

use serde::Serialize;

/// A link to other boards or to a page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    pub(crate) as_dropdown: bool,
    pub(crate) icon: &'static str,
    pub(crate) include_vars: bool,
    pub(crate) keep_time: bool,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) target_blank: bool,
    pub(crate) title: String,
    pub(crate) tooltip: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) url: String,
}

impl Link {
    /// Links to all boards with a tag.
    pub(crate) fn to_tag(tag: &'static str, title: &str) -> Self {
        Self {
            as_dropdown: false,
            icon: "external link",
            include_vars: true,
            keep_time: true,
            tags: vec![tag],
            target_blank: false,
            title: title.to_owned(),
            tooltip: String::new(),
            kind: "dashboards",
            url: String::new(),
        }
    }

    /// A link to a page.
    pub(crate) fn to_page(title: &str, url: String) -> Self {
        Self {
            include_vars: false,
            keep_time: false,
            tags: Vec::new(),
            target_blank: true,
            kind: "link",
            url,
            ..Self::to_tag("", title)
        }
    }
}
