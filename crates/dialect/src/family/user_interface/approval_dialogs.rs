//! The dialogs in which users decide about tool calls.

use bowline_core::ask::{Approval, ApprovalForm};
use schemars::{Schema, SchemaGenerator};

use super::{REQUEST, Request, Style};
use crate::approval_text::{approval_text, approval_title, choices, yes_or_no};
use crate::json::milliseconds;
use crate::schema::{record_union, variants};

/// Returns the request about a call.
pub(super) fn approval_request<'event>(style: Style, approval: &'event Approval) -> Request<'event> {
    let text = approval_text(approval);
    let timeout = approval.terms.timeout.map(milliseconds);
    match style {
        Style::Pi => {
            Request::Confirm { title: approval_title(approval).into(), message: text.into(), timeout }
        }
        Style::Omp { .. } => Request::Select {
            title: omp_title(approval).into(),
            options: yes_or_no().into(),
            option_details: Vec::new(),
            timeout,
        },
    }
}

/// Tells whether a dialog offers more than yes and no.
pub(super) fn offers_to_remember(approval: &Approval) -> bool {
    approval.terms.form == ApprovalForm::FullDialog && !approval.terms.may_remember.is_empty()
}

/// Returns the request about a call that also offers to remember the answer.
pub(super) fn choice_request<'event>(style: Style, approval: &'event Approval) -> Request<'event> {
    let title = match style {
        Style::Pi => format!("{}\n{}", approval_title(approval), approval_text(approval)),
        Style::Omp { .. } => omp_title(approval),
    };
    Request::Select {
        title: title.into(),
        options: choices(&approval.terms).into(),
        option_details: Vec::new(),
        timeout: approval.terms.timeout.map(milliseconds),
    }
}

fn omp_title(approval: &Approval) -> String {
    let text = approval_text(approval);
    format!("Allow tool: {}\n{text}", approval.tool).trim_end().to_owned()
}

impl Style {
    /// Describes the requests about tool calls.
    pub fn approval_schema(self, generator: &mut SchemaGenerator) -> Schema {
        let mut methods = variants::<Request<'_>>(generator);
        let name = |method: &Schema| method.as_value()["properties"]["method"]["const"].clone();
        methods.retain(|method| name(method) == "confirm" || name(method) == "select");
        record_union(
            "A tool call needs the user's consent, for users who want to be asked. It waits for an `extension_ui_response` \
             with its id.",
            REQUEST,
            methods,
        )
    }
}
