//! The manual pages.

use super::roff::Page;
use crate::flags::{Group, flags};
use crate::help::{self, spelling};
use crate::settings;
use crate::subcommands::{SUBCOMMANDS, Subcommand};

/// The page of the settings describes a file.
const SETTINGS_PAGE: (&str, u8) = ("bowline-settings", 5);

/// Returns every page with the path of its file below a folder of manual pages.
pub(super) fn all() -> impl Iterator<Item = (String, String)> {
    let subcommands =
        SUBCOMMANDS.iter().map(|subcommand| (file(&name(subcommand), 1), of_subcommand(subcommand)));
    let (settings, section) = SETTINGS_PAGE;
    [(file("bowline", 1), of_program()), (file(settings, section), of_settings())]
        .into_iter()
        .chain(subcommands)
}

fn file(name: &str, section: u8) -> String {
    format!("man{section}/{name}.{section}")
}

fn name(subcommand: &Subcommand) -> String {
    format!("bowline-{}", subcommand.name)
}

/// Returns the page of the program.
pub(super) fn of_program() -> String {
    let mut page = Page::new("bowline", 1, "a headless coding agent");
    page.section("SYNOPSIS");
    let calls: Vec<_> = help::CALLS.iter().map(|(call, _)| *call).collect();
    page.as_it_is(&format!("{}\nbowline SUBCOMMAND [OPTIONS]", calls.join("\n")));
    page.section("DESCRIPTION");
    page.paragraph(help::INTRODUCTION);
    for (call, about) in help::CALLS {
        page.entry(call, about);
    }
    page.section("SUBCOMMANDS");
    for subcommand in SUBCOMMANDS {
        page.entry(&format!("bowline {}", subcommand.name), subcommand.about);
    }
    for (group, heading) in Group::ALL {
        page.section(&format!("OPTIONS: {}", heading.to_uppercase()));
        for flag in flags().filter(|flag| flag.group == group) {
            page.entry(&spelling(flag), flag.about);
        }
    }
    page.section("DIALECTS");
    page.paragraph("The protocols that --dialect names:");
    for entry in bowline_dialect::DIALECTS {
        page.entry(entry.name, entry.about);
    }
    page.section("EXIT STATUS");
    page.entry("0", "What was asked for is done.");
    page.entry("1", "It failed; stderr says why.");
    page.entry("2", "The command line does not say what to do.");
    page.section("FILES");
    page.paragraph(help::FOLDER);
    for (name, about) in help::FILES {
        page.entry(name, about);
    }
    page.section("EXAMPLES");
    page.as_it_is(&help::EXAMPLES.join("\n"));
    page.section("SEE ALSO");
    let (settings, section) = SETTINGS_PAGE;
    page.references(
        SUBCOMMANDS.iter().map(|subcommand| (name(subcommand), 1)).chain([(settings.to_owned(), section)]),
    );
    page.finish()
}

/// Returns the page of a subcommand.
pub(super) fn of_subcommand(subcommand: &Subcommand) -> String {
    let mut page = Page::new(&name(subcommand), 1, subcommand.about);
    page.section("SYNOPSIS");
    page.as_it_is(subcommand.usage);
    page.section("OPTIONS");
    for flag in flags().filter(|flag| subcommand.has_flag(flag.long)) {
        page.entry(&spelling(flag), flag.about);
    }
    page.section("EXAMPLES");
    page.as_it_is(subcommand.examples);
    page.section("SEE ALSO");
    page.references([("bowline".to_owned(), 1)].into_iter());
    page.finish()
}

/// Returns the page of the settings.
pub(super) fn of_settings() -> String {
    let (name, section) = SETTINGS_PAGE;
    let mut page = Page::new(name, section, "the settings of bowline");
    page.section("DESCRIPTION");
    page.paragraph(settings::INTRODUCTION);
    page.section("SETTINGS");
    for setting in settings::described() {
        page.entry(
            setting.path,
            &format!("{}\nDefault: {}.\nExample: {}", setting.about, setting.default, setting.example),
        );
    }
    page.section("SEE ALSO");
    page.references([("bowline".to_owned(), 1)].into_iter());
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_have_every_flag_subcommand_and_setting() {
        let shown = |text: &str| text.replace('-', "\\-");
        let program = of_program();
        for flag in flags() {
            assert!(program.contains(&shown(flag.long)), "{}", flag.long);
        }
        for subcommand in SUBCOMMANDS {
            assert!(
                program.contains(&format!(".BR {} (1)", shown(&name(subcommand)))),
                "{}",
                subcommand.name
            );
            assert!(of_subcommand(subcommand).contains("\n.SH \"EXAMPLES\"\n"));
        }
        let settings_page = of_settings();
        for setting in settings::described() {
            assert!(settings_page.contains(setting.path), "{}", setting.path);
        }
        let mut names: Vec<_> = all().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), SUBCOMMANDS.len() + 2);
    }
}
