//! A list of named fields, one per line.

use super::colour::{Colour, Part};
use super::text;

/// A list of named fields.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    fields: Vec<(&'static str, String)>,
}

impl Fields {
    /// Adds a field; its text is made safe.
    pub(crate) fn add(&mut self, name: &'static str, said: impl AsRef<str>) {
        self.fields.push((name, text::lines(said.as_ref()).trim_end().to_owned()));
    }

    /// Adds a field if it has a value.
    pub(crate) fn add_some(&mut self, name: &'static str, said: Option<impl AsRef<str>>) {
        if let Some(said) = said {
            self.add(name, said);
        }
    }

    /// Formats the fields with their values in one column.
    pub(crate) fn render(&self, colour: Colour) -> String {
        let widest = self.fields.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0);
        let mut shown = String::new();
        for (name, said) in &self.fields {
            let mut label = colour.paint(Part::Head, name);
            label.extend(std::iter::repeat_n(' ', widest - text::width(name)));
            for line in said.split('\n') {
                shown.push_str(format!("{label}  {line}").trim_end());
                shown.push('\n');
                label = " ".repeat(widest);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_columns() {
        let mut fields = Fields::default();
        fields.add("state", "running");
        fields.add_some("pid", Some("7"));
        fields.add_some("exit", None::<&str>);
        fields.add("log", "one\ntwo\u{1b}[2J");
        assert_eq!(
            fields.render(Colour::Plain),
            "state  running\npid    7\nlog    one\n       two\n"
        );
    }
}
