//! HTML and SVG in the making. Text from captures and logs gets in only through [`escape`]: there is
//! no way to make [`Markup`] of a string.

use std::fmt::{self, Display, Write as _};

use crate::printable::is_printable;

/// Elements that have no content and no end tag.
const VOID: &[&str] = &["br", "input", "meta"];

/// Well-formed markup.
#[derive(Clone, Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Adds `more` at the end.
    pub(super) fn push(&mut self, more: impl Into<Self>) {
        self.0.push_str(&more.into().0);
    }

    /// The content of the page's own style and script elements: files of this program.
    pub(super) fn own(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<M: Into<Markup>> FromIterator<M> for Markup {
    fn from_iter<I: IntoIterator<Item = M>>(parts: I) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|part| all.push(part));
        all
    }
}

/// An element with its attributes and its content so far.
#[derive(Clone, Debug)]
pub(super) struct Element {
    tag: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    pub(super) fn new(tag: &'static str) -> Self {
        Self { tag, attributes: String::new(), content: String::new() }
    }

    /// An attribute.
    pub(super) fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push(' ');
        self.attributes.push_str(name);
        self.attributes.push_str("=\"");
        escape(&mut self.attributes, value);
        self.attributes.push('"');
        self
    }

    /// An attribute without a value.
    pub(super) fn flag(mut self, name: &'static str) -> Self {
        self.attributes.push(' ');
        self.attributes.push_str(name);
        self
    }

    pub(super) fn class(self, names: &'static str) -> Self {
        self.with("class", names)
    }

    /// Text.
    pub(super) fn text(mut self, text: impl Display) -> Self {
        escape(&mut self.content, text);
        self
    }

    pub(super) fn child(mut self, child: impl Into<Markup>) -> Self {
        self.content.push_str(&child.into().0);
        self
    }

    pub(super) fn children<M: Into<Markup>>(self, children: impl IntoIterator<Item = M>) -> Self {
        children.into_iter().fold(self, Self::child)
    }
}

impl From<Element> for Markup {
    fn from(element: Element) -> Self {
        let Element { tag, attributes, content } = element;
        if VOID.contains(&tag) {
            return Self(format!("<{tag}{attributes}>"));
        }
        Self(format!("<{tag}{attributes}>{content}</{tag}>"))
    }
}

/// Appends `text` so that it is nothing but text, inside an element and inside a quoted attribute.
fn escape(out: &mut String, text: impl Display) {
    let mut escaped = Escaped(out);
    // Only a `Display` that fails itself could fail here; what it wrote until then is kept.
    let _ = write!(escaped, "{text}");
}

struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c if !is_printable(c) => self.0.push(char::REPLACEMENT_CHARACTER),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Markup::from(Element::new("p").with("title", text).text(text)).0
    }

    #[test]
    fn text_cannot_leave_its_element_or_attribute() {
        let text = shown("</p><script>alert('1')</script>\" onclick=\"x &amp;");
        let inside = "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; \
                      onclick=&quot;x &amp;amp;";
        assert_eq!(text, format!("<p title=\"{inside}\">{inside}</p>"));
    }

    #[test]
    fn characters_that_hide_or_reorder_text_are_replaced() {
        assert_eq!(shown("a\0b\u{1b}[31m\u{202e}c\u{200b}\u{2028}\n"), {
            let safe = "a\u{fffd}b\u{fffd}[31m\u{fffd}c\u{fffd}\u{fffd}\u{fffd}";
            format!("<p title=\"{safe}\">{safe}</p>")
        });
    }

    #[test]
    fn void_elements_have_no_end() {
        assert_eq!(Markup::from(Element::new("input").flag("hidden")).0, "<input hidden>");
    }
}
