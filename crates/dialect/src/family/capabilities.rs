//! What a client can do beyond what every client can.

use bowline_core::Command;
use bowline_core::ask::ApprovalForm;
use bowline_core::ui::{Screen, WidgetInput};

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Kind::{Boolean, CountTo, OneOf, Text};
use crate::fields::{Field, Fields};

/// The most columns and rows that a client can have for components.
const LARGEST_SCREEN: u64 = 1000;

/// The size of a terminal, if the client says nothing else.
const USUAL_SCREEN: Screen = Screen { columns: 80, rows: 24 };

pub(crate) const SET_CLIENT_CAPABILITIES: Row = Row {
    name: "set_client_capabilities",
    about: "Says what the client can do. What is absent stays as it is.",
    fields: &[
        Field::optional(
            "approvals",
            OneOf(&["dialog", "record"]),
            "How the client wants to be asked about tool calls: with a dialog (the default), or with `approval_request`.",
        ),
        Field::optional(
            "changes",
            Boolean,
            "Whether the client gets a `run_changes` record for each run that changed files.",
        ),
        Field::optional(
            "render",
            Boolean,
            "Whether the client shows components of pi's extensions: as `setWidget` with `takesKeys`, whose keys it passes \
             on with `widget_input`. Sent again when the size changes.",
        ),
        Field::optional(
            "columns",
            CountTo(LARGEST_SCREEN),
            "The width for components in characters, by default 80.",
        ),
        Field::optional(
            "rows",
            CountTo(LARGEST_SCREEN),
            "The height for components in lines, by default 24.",
        ),
    ],
    result: None,
    action: Engine(|mut fields| Command::SetClientCapabilities {
        approvals: fields.optional_text("approvals").map(|form| match form.as_str() {
            "record" => ApprovalForm::Record,
            _ => ApprovalForm::Dialog,
        }),
        changes: fields.optional_flag("changes"),
        files: None,
        screen: fields.optional_flag("render").map(|renders| renders.then(|| screen(&fields))),
    }),
};

pub(crate) const WIDGET_INPUT: Row = Row {
    name: "widget_input",
    about: "Passes on what the user does with a component of an extension.",
    fields: &[
        Field::required("widgetKey", Text, "The `widgetKey` of the component."),
        Field::optional("data", Text, "Keys as a terminal sends them, such as `\\u001b[A` for the arrow up."),
        Field::optional("close", Boolean, "`true` if the user closes the component; `data` is ignored then."),
    ],
    result: None,
    action: Engine(|mut fields| Command::WidgetInput {
        key: fields.text("widgetKey"),
        input: if fields.optional_flag("close") == Some(true) {
            WidgetInput::Close
        } else {
            WidgetInput::Keys(fields.optional_text("data").unwrap_or_default())
        },
    }),
};

fn screen(fields: &Fields) -> Screen {
    let size = |name, usual| fields.count(name).and_then(|count| u16::try_from(count).ok()).unwrap_or(usual);
    Screen { columns: size("columns", USUAL_SCREEN.columns), rows: size("rows", USUAL_SCREEN.rows) }
}
