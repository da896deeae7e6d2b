//! Tables that fit the terminal.

use super::colour::{Colour, Part};
use super::text;

/// Columns between two columns.
const GAP: usize = 2;

/// The minimum width of an elastic column.
const NARROWEST: usize = 8;

/// The minimum width of a firm column.
const FIRM: usize = 24;

/// A table: a head and rows of cells.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<TableCell>>,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    head: &'static str,
    flex: Flex,
}

/// Whether a column shrinks on a narrow terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flex {
    /// It keeps its natural width.
    Stiff,
    /// It shrinks down to this width.
    Elastic(usize),
}

/// A cell: a safe text and its meaning.
#[derive(Debug)]
pub(crate) struct TableCell {
    text: String,
    part: Option<Part>,
}

impl Column {
    /// A column that keeps its width.
    pub(crate) const fn stiff(head: &'static str) -> Self {
        Self { head, flex: Flex::Stiff }
    }

    /// A column that is cut if it must be.
    pub(crate) const fn elastic(head: &'static str) -> Self {
        Self { head, flex: Flex::Elastic(NARROWEST) }
    }

    /// A column that shrinks less, because users copy its values.
    pub(crate) const fn firm(head: &'static str) -> Self {
        Self { head, flex: Flex::Elastic(FIRM) }
    }

    /// The width for a natural width and a maximum width of elastic columns.
    fn width(&self, natural: usize, cap: usize) -> usize {
        match self.flex {
            Flex::Stiff => natural,
            Flex::Elastic(floor) => natural.min(cap.max(floor)),
        }
    }
}

impl TableCell {
    /// Makes a cell; its text is made safe.
    pub(crate) fn new(shown: impl AsRef<str>) -> Self {
        // A tree's indentation is kept.
        let shown = shown.as_ref();
        let indented = shown.len() - shown.trim_start_matches(' ').len();
        Self { text: format!("{}{}", &shown[..indented], text::line(shown)), part: None }
    }

    /// Sets the meaning of the cell.
    pub(crate) fn part(mut self, part: Part) -> Self {
        self.part = Some(part);
        self
    }
}

impl Table {
    /// A table of these columns.
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<TableCell>>) {
        self.rows.push(cells.into());
    }

    /// The table, no line of it wider than `width`, if that is known.
    pub(crate) fn render(&self, width: Option<usize>, colour: Colour) -> String {
        let widths = self.widths(width);
        let mut shown = String::new();
        let heads: Vec<TableCell> = self.columns.iter().map(|column| head(column.head)).collect();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let mut line = String::new();
            let mut owed = 0;
            for (cell, width) in row.iter().zip(&widths) {
                line.extend(std::iter::repeat_n(' ', owed));
                let cut = text::cut(&cell.text, *width);
                owed = width - text::width(&cut) + GAP;
                match cell.part {
                    Some(part) if !cut.is_empty() => line.push_str(&colour.paint(part, cut)),
                    _ => line.push_str(&cut),
                }
            }
            shown.push_str(line.trim_end());
            shown.push('\n');
        }
        shown
    }

    /// The widths of the columns. Columns that do not fit are left out from the
    /// right.
    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let mut natural: Vec<usize> = self.columns.iter().map(|c| text::width(c.head)).collect();
        for row in &self.rows {
            for (natural, cell) in natural.iter_mut().zip(row) {
                *natural = (*natural).max(text::width(&cell.text));
            }
        }
        let Some(width) = width else { return natural };
        let fitted = |kept: usize, cap: usize| -> Vec<usize> {
            let columns = self.columns[..kept].iter().zip(&natural);
            columns.map(|(column, natural)| column.width(*natural, cap)).collect()
        };
        let fits = |widths: &[usize]| total(widths) <= width;
        // As many columns as can be, and those as wide as can be.
        for kept in (1..=natural.len()).rev() {
            let mut caps = (0..=width).rev().map(|cap| fitted(kept, cap));
            if let Some(mut widths) = caps.find(|widths| fits(widths)) {
                self.share(&mut widths, &natural, width);
                return widths;
            }
        }
        natural.first().map(|first| (*first).min(width)).into_iter().collect()
    }

    /// Shares the remaining width among the columns that were cut.
    fn share(&self, widths: &mut [usize], natural: &[usize], width: usize) {
        let mut left = width.saturating_sub(total(widths));
        for ((own, natural), column) in widths.iter_mut().zip(natural).zip(&self.columns).rev() {
            if column.flex != Flex::Stiff {
                let more = (natural - *own).min(left);
                *own += more;
                left -= more;
            }
        }
    }
}

/// The width of a line.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

fn head(name: &str) -> TableCell {
    TableCell { text: name.to_owned(), part: Some(Part::Head) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_client::wire::State;

    fn example() -> Table {
        let columns = [
            Column::firm("HANDLE"),
            Column::stiff("STATE"),
            Column::stiff("AGE"),
            Column::elastic("COMMAND"),
            Column::elastic("WHAT"),
        ];
        let mut table = Table::new(columns);
        table.row([
            TableCell::new("build-1").part(Part::Name),
            TableCell::new("running").part(Part::State(State::Running)),
            TableCell::new("3m12s"),
            TableCell::new("cargo build --release --workspace --all-features"),
            TableCell::new("Compiling offshoot v0.1.0 (/home/me/offshoot/crates/offshoot)"),
        ]);
        table.row([
            TableCell::new("  文書の索引を作る"),
            TableCell::new("completed"),
            TableCell::new("4s"),
            TableCell::new("索引 --全部 ドキュメント/フォルダ 👩‍💻"),
            TableCell::new("終わりました\u{1b}[2J\nok"),
        ]);
        table
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 1..220 {
            for line in example().render(Some(width), Colour::Plain).lines() {
                assert!(text::width(line) <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn a_narrow_terminal_shows_what_names_the_task() {
        let shown = example().render(Some(40), Colour::Plain);
        assert_eq!(
            shown,
            "HANDLE              STATE      AGE\n\
             build-1             running    3m12s\n  \
             文書の索引を作る  completed  4s\n"
        );
    }

    #[test]
    fn eighty_columns_are_used_up() {
        let shown = example().render(Some(80), Colour::Plain);
        let widest = shown.lines().map(text::width).max();
        assert!(widest >= Some(79), "{shown}");
        assert!(shown.contains("cargo build") && shown.contains("Compiling"), "{shown}");
    }

    #[test]
    fn a_wide_terminal_or_none_cuts_nothing() {
        for width in [Some(200), None] {
            let shown = example().render(width, Colour::Plain);
            assert!(!shown.contains('…'), "{shown}");
            assert!(shown.contains("終わりました ok"), "{shown}");
            assert!(!shown.contains(" \n") && !shown.contains('\u{1b}'), "{shown}");
        }
    }

    #[test]
    fn colours_take_no_columns() {
        let plain = example().render(Some(80), Colour::Plain);
        let shown = example().render(Some(80), Colour::Shown);
        assert_eq!(text::lines(&shown), plain);
    }
}
