//! A column: its name, its meaning, and how a row's value is found.

/// A column of rows `R`. Every value may be absent.
pub(super) struct Column<'a, R> {
    pub(super) name: &'static str,
    /// What it holds, for the catalogue: a sentence without its name.
    pub(super) about: &'static str,
    pub(super) value: Value<'a, R>,
}

/// The kind of a column, and a row's value in it.
pub(super) enum Value<'a, R> {
    Text(TextOf<'a, R>),
    Integer(Of<'a, R, i64>),
    Real(Of<'a, R, f64>),
    Truth(Of<'a, R, bool>),
    /// Microseconds since the Unix epoch.
    Time(Of<'a, R, i64>),
}

type Of<'a, R, T> = Box<dyn Fn(&R) -> Option<T> + 'a>;
type TextOf<'a, R> = Box<dyn Fn(&R) -> Option<&str> + 'a>;

impl<R> Value<'_, R> {
    /// The type as SQL names it.
    pub(super) const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "int64",
            Self::Real(_) => "double",
            Self::Truth(_) => "boolean",
            Self::Time(_) => "timestamp (UTC, us)",
        }
    }
}

/// The columns of a table, in order.
pub(super) struct Columns<'a, R>(Vec<Column<'a, R>>);

impl<'a, R> Columns<'a, R> {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// All of them.
    pub(super) fn into_list(self) -> Vec<Column<'a, R>> {
        self.0
    }

    /// Adds a column of texts.
    pub(super) fn text(
        &mut self,
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<&str> + 'a,
    ) {
        self.push(name, about, Value::Text(Box::new(of)));
    }

    /// Adds a column of whole numbers. Those beyond 63 bits, which nothing counts up to, become the
    /// largest.
    pub(super) fn integer<N: Whole>(
        &mut self,
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> N + 'a,
    ) {
        self.push(name, about, Value::Integer(Box::new(move |row| of(row).whole())));
    }

    /// Adds a column of real numbers.
    pub(super) fn real(
        &mut self,
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<f64> + 'a,
    ) {
        self.push(name, about, Value::Real(Box::new(of)));
    }

    /// Adds a column of yes and no.
    pub(super) fn truth(
        &mut self,
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> bool + 'a,
    ) {
        self.push(name, about, Value::Truth(Box::new(move |row| Some(of(row)))));
    }

    /// Adds a column of times, in microseconds since the Unix epoch.
    pub(super) fn time(
        &mut self,
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<i64> + 'a,
    ) {
        self.push(name, about, Value::Time(Box::new(of)));
    }

    fn push(&mut self, name: &'static str, about: &'static str, value: Value<'a, R>) {
        self.0.push(Column { name, about, value });
    }
}

/// What a column of whole numbers is made of.
pub(super) trait Whole {
    /// The number; `None` if unknown.
    fn whole(self) -> Option<i64>;
}

impl Whole for i64 {
    fn whole(self) -> Option<i64> {
        Some(self)
    }
}

impl Whole for u64 {
    fn whole(self) -> Option<i64> {
        Some(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

impl Whole for u32 {
    fn whole(self) -> Option<i64> {
        Some(i64::from(self))
    }
}

impl Whole for usize {
    fn whole(self) -> Option<i64> {
        (self as u64).whole()
    }
}

impl<N: Whole> Whole for Option<N> {
    fn whole(self) -> Option<i64> {
        self.and_then(N::whole)
    }
}
