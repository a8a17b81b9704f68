//! Text tables with aligned columns.

use crate::terminal::plain_line;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Returns a table as text. The last column is not padded.
pub(crate) fn render<const N: usize>(columns: [(&str, Align); N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| plain_line(cell))).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([columns[column].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let head = columns.map(|(title, _)| title.to_owned());
    let mut text = String::new();
    for row in std::iter::once(&head).chain(&rows) {
        let cells = row.iter().zip(columns).zip(widths).map(|((cell, (_, align)), width)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        let line: Vec<String> = cells.collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "10".to_owned()], ["long".to_owned(), "7".to_owned()]];
        let text = render([("name", Align::Left), ("n", Align::Right)], &rows);
        assert_eq!(text, "name   n\na     10\nlong   7\n");
    }

    #[test]
    fn cells_stay_in_their_line_and_their_column() {
        let rows = [["a\nb\u{1b}[2J".to_owned(), "x".to_owned()], ["c".to_owned(), "y".to_owned()]];
        let text = render([("name", Align::Left), ("n", Align::Left)], &rows);
        assert_eq!(text, "name          n\na b\\u001b[2J  x\nc             y\n");
    }
}
