//! Tables of Markdown, with their columns aligned.

use unicode_width::UnicodeWidthStr as _;

use super::emphasis::Marks;
use super::style::{Palette, Style};

/// What separates two columns.
const BETWEEN: &str = " │ ";

/// The narrowest that a column is made to fit the terminal.
const NARROWEST: usize = 6;

/// A cell: its text with looks, word for word.
type Cell = Vec<Vec<(Style, String)>>;

/// Returns the rows of a table. What is none, and what has no room, is returned as it is.
pub(super) fn rows(palette: Palette, lines: &[String], width: usize) -> Vec<String> {
    let [head, rule, body @ ..] = lines else { return lines.to_vec() };
    let sides = sides(rule);
    let columns = sides.len();
    if columns == 0 || cells(head).len() != columns {
        return lines.to_vec();
    }
    let parse = |line: &String, base: Style| -> Vec<Cell> {
        let mut row: Vec<_> = cells(line).iter().map(|cell| styled(cell, base)).collect();
        row.resize_with(columns, Cell::new);
        row
    };
    let mut table = vec![parse(head, Style::Bold)];
    table.extend(body.iter().map(|line| parse(line, Style::Plain)));
    let Some(widths) = widths(&table, columns, width) else { return lines.to_vec() };
    let mut rows = Vec::new();
    for (index, row) in table.iter().enumerate() {
        rows.extend(drawn(palette, row, &widths, &sides));
        if index == 0 {
            let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
            rows.push(palette.paint(Style::Faint, &rule.join("─┼─")));
        }
    }
    rows
}

/// Returns for each column whether its cells end at its right side; nothing if the line is not the rule below a head.
fn sides(rule: &str) -> Vec<bool> {
    let cells = cells(rule);
    let is_rule = |cell: &String| {
        let inner = cell.strip_prefix(':').unwrap_or(cell);
        let inner = inner.strip_suffix(':').unwrap_or(inner);
        !inner.is_empty() && inner.bytes().all(|byte| byte == b'-')
    };
    if !cells.iter().all(is_rule) {
        return Vec::new();
    }
    cells.iter().map(|cell| cell.ends_with(':') && !cell.starts_with(':')).collect()
}

/// Returns the cells of a line.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(cell) = cells.last_mut() else { break };
        match letter {
            '\\' if letters.peek() == Some(&'|') => cell.extend(letters.next()),
            '|' => cells.push(String::new()),
            letter => cell.push(letter),
        }
    }
    // What follows the last line is no cell.
    if cells.len() > 1 && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn styled(cell: &str, base: Style) -> Cell {
    let mut marks = Marks::default();
    let words = cell.split(' ').filter(|word| !word.is_empty());
    words.map(|word| marks.split(word, base)).filter(|word| !word.is_empty()).collect()
}

fn word_width(word: &[(Style, String)]) -> usize {
    word.iter().map(|(_, text)| text.width()).sum()
}

fn cell_width(cell: &Cell) -> usize {
    cell.iter().map(|word| word_width(word) + 1).sum::<usize>().saturating_sub(1)
}

/// Returns how wide each column is, if all have room: the widest are made narrower.
fn widths(table: &[Vec<Cell>], columns: usize, width: usize) -> Option<Vec<usize>> {
    let widest =
        |column: usize| table.iter().map(|row| cell_width(&row[column])).max().unwrap_or_default().max(1);
    let mut widths: Vec<usize> = (0..columns).map(widest).collect();
    let room = width.checked_sub(BETWEEN.width() * (columns - 1))?;
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max().filter(|widest| **widest > NARROWEST)?;
        *widest -= 1;
    }
    Some(widths)
}

/// Returns the rows of a row of cells, each of which is wrapped to the width of its column.
fn drawn(palette: Palette, row: &[Cell], widths: &[usize], sides: &[bool]) -> Vec<String> {
    let wrapped: Vec<_> = row.iter().zip(widths).map(|(cell, width)| wrap(palette, cell, *width)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or_default().max(1);
    let between = palette.paint(Style::Faint, BETWEEN);
    let empty = (String::new(), 0);
    (0..height)
        .map(|index| {
            let parts = wrapped.iter().zip(widths).zip(sides).map(|((rows, width), is_right)| {
                let (text, used) = rows.get(index).unwrap_or(&empty);
                let space = " ".repeat(width.saturating_sub(*used));
                if *is_right { format!("{space}{text}") } else { format!("{text}{space}") }
            });
            parts.collect::<Vec<_>>().join(&between).trim_end().to_owned()
        })
        .collect()
}

/// Returns the rows of a cell with their widths. A word that is too long for the column is split.
fn wrap(palette: Palette, cell: &Cell, width: usize) -> Vec<(String, usize)> {
    let mut rows = Vec::new();
    let (mut row, mut used) = (String::new(), 0);
    for word in cell {
        let space = usize::from(used > 0);
        if used > 0 && used + space + word_width(word).min(width) > width {
            rows.push((std::mem::take(&mut row), std::mem::take(&mut used)));
        } else if used > 0 {
            row.push(' ');
            used += 1;
        }
        for (style, text) in word {
            let mut part = String::new();
            for letter in text.chars() {
                let wider = format!("{part}{letter}");
                if used + wider.width() > width && used + part.width() > 0 {
                    palette.add(&mut row, *style, &part);
                    rows.push((std::mem::take(&mut row), used + part.width()));
                    (part, used) = (letter.to_string(), 0);
                } else {
                    part = wider;
                }
            }
            palette.add(&mut row, *style, &part);
            used += part.width();
        }
    }
    if used > 0 {
        rows.push((row, used));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Palette = Palette { is_styled: false };

    #[track_caller]
    fn check(table: &str, width: usize, expected: &[&str]) {
        let lines: Vec<_> = table.lines().map(ToOwned::to_owned).collect();
        assert_eq!(rows(PLAIN, &lines, width), expected);
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        check(
            "| Name | n |\n|:---|---:|\n| **世界** | 1 |\n| a \\| b | 20 |\n| x |",
            40,
            &["Name  │  n", "──────┼───", "世界  │  1", "a | b │ 20", "x     │"],
        );
    }

    #[test]
    fn wide_columns_are_wrapped() {
        check(
            "| k | text |\n|---|---|\n| a | one two three four |\n| b | unbreakablelongword |",
            16,
            &[
                "k │ text",
                "──┼─────────────",
                "a │ one two",
                "  │ three four",
                "b │ unbreakablel",
                "  │ ongword",
            ],
        );
    }

    #[test]
    fn what_is_no_table_or_has_no_room_stays() {
        check("| a | b |", 40, &["| a | b |"]);
        check("| a | b |\n| c | d |", 40, &["| a | b |", "| c | d |"]);
        let wide = format!("|{}\n|{}\n|{}", " abcdefgh |".repeat(9), "---|".repeat(9), " x |".repeat(9));
        check(&wide, 40, &wide.lines().collect::<Vec<_>>());
    }
}
