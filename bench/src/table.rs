//! The report as a table.

use crate::figure::{Figure, Goal};

const HEADINGS: [&str; 6] = ["what", "bowline", "floor", "ratio", "goal", "met?"];

const LEGEND: &str = "\
Each cell is the median and, in parentheses, the minimum of its samples. Goals are held against the median.
";

/// Returns the figures as a Markdown table, followed by the missed goals.
pub(crate) fn table(figures: &[Figure]) -> String {
    let rows: Vec<[String; 6]> = figures.iter().map(row).collect();
    let headings = HEADINGS.map(ToOwned::to_owned);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = std::iter::once(&headings).chain(&rows);
        cells.map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = String::new();
    for row in [&headings, &rule].into_iter().chain(&rows) {
        text.push_str(&line(row, &widths));
    }
    format!("{text}\n{LEGEND}{}\n", verdict(figures))
}

fn line(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, &width)| format!(" {cell:width$} |"));
    format!("|{}\n", padded.collect::<String>())
}

fn row(figure: &Figure) -> [String; 6] {
    let unit = figure.unit;
    let absent = || "–".to_owned();
    let ratio = figure.ratio().zip(figure.ratio_of_minima());
    let goal = match figure.goal {
        Goal::TimesFloor(limit) => format!("≤ {limit}×"),
        Goal::AtMost(limit) => format!("≤ {}", unit.quantity(limit)),
        Goal::TimesFloorAndAtMost { times_floor, at_most } => {
            format!("≤ {times_floor}×, ≤ {}", unit.quantity(at_most))
        }
        Goal::None => absent(),
    };
    let met = figure.is_met().map(|is_met| if is_met { "yes" } else { "NO" }.to_owned());
    [
        figure.what.clone(),
        unit.summary(&figure.bowline),
        figure.floor.as_ref().map_or_else(absent, |floor| unit.summary(floor)),
        ratio.map_or_else(absent, |(median, minimum)| format!("{median:.2}× ({minimum:.2}×)")),
        goal,
        met.unwrap_or_else(absent),
    ]
}

fn verdict(figures: &[Figure]) -> String {
    let missed: Vec<&str> = figures
        .iter()
        .filter(|figure| figure.is_met() == Some(false))
        .map(|figure| figure.what.as_str())
        .collect();
    if missed.is_empty() {
        "Every goal is met.".to_owned()
    } else {
        format!("Goals that are missed: {}.", missed.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    #[test]
    fn missed_goal_is_named() {
        let met = Figure { goal: Goal::AtMost(2.0), ..Figure::plain("a", Unit::Count, 1.0) };
        let missed = Figure { goal: Goal::AtMost(2.0), ..Figure::plain("b", Unit::Count, 3.0) };
        assert!(table(&[met.clone(), missed]).ends_with("Goals that are missed: b.\n"));
        assert!(table(&[met]).ends_with("Every goal is met.\n"));
    }
}
