//! What confines the tools of the session: saying what holds, changing it, and noting it in the file.

use std::sync::Arc;

use bowline_core::command::Origin;
use bowline_core::event::Event;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::sandbox::{
    ProtectedChange, SandboxChange, SandboxMode, SandboxNetwork, SandboxReport, SandboxSummary,
};
use bowline_session::EntryBody;
use bowline_tools::{Confinement, Options};
use ring::digest::{SHA256, digest};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::Session;
use crate::pending::JobOrder;

/// The type of the entry that says what confined the tools from then on.
const ENTRY: &str = "bowline.sandbox";

/// Where Linux says its version.
const KERNEL_RELEASE: &str = "/proc/sys/kernel/osrelease";

/// What a session's file says of the sandbox.
#[derive(Debug)]
pub(crate) struct NotedSandbox {
    session_id: String,
    report: SandboxReport,
    /// The revision of the sandbox that the report is of.
    revision: u64,
}

impl Session {
    /// Returns what holds for the tools, in short and without trying it.
    pub(super) fn sandbox_summary(&self) -> SandboxSummary {
        let summary = match self.confinement() {
            Some(confinement) => confinement.summary(),
            None => SandboxSummary::from(&SandboxReport::unconfined(SandboxMode::FullAccess)),
        };
        SandboxSummary { ask: self.agent.gate().ask_mode(), ..summary }
    }

    /// Has the proxy of the sandbox ask this session about hosts, because its tools are about to run.
    pub(super) fn answer_for_hosts(&self) {
        if let Some(confinement) = self.confinement().filter(|confinement| confinement.is_active()) {
            confinement.ask_about_hosts(Arc::new(self.host_questions()));
        }
    }

    /// Replies with what holds, once it has been tried. That may start processes, so nothing waits for it.
    pub(super) fn get_sandbox(&mut self, origin: Origin, connections: bool) {
        let options = self.instructions.toolbox().options();
        let confinement = options.confinement.clone();
        let ask = self.agent.gate().ask_mode();
        let session = self.transcript.session_id().to_owned();
        self.reply_later(origin, JobOrder::Beside, async move {
            let unavailable = |text: String| Refusal::new(RefusalCode::SandboxUnavailable, text);
            let mut report = match &confinement {
                Some(confinement) => confinement.prove(Some(&session)).await.map_err(unavailable)?,
                None => {
                    let report = spawn_blocking(move || unconfined(&options)).await;
                    report.map_err(|error| Refusal::new(RefusalCode::Internal, error.to_string()))?
                }
            };
            report.ask = ask;
            if connections {
                let made = confinement.map(|confinement| confinement.connections());
                report.connections = Some(made.unwrap_or_default());
            }
            Ok(Answer::Sandbox(Box::new(report)))
        });
    }

    /// Changes what confines the tools from the next call on. It may have to find out what the system offers, so other
    /// commands wait for it, but nothing else does.
    pub(super) fn set_sandbox(&mut self, origin: Origin, change: SandboxChange) {
        let refused = |code, text: &str| Err(Refusal::new(code, text));
        if change == SandboxChange::default() {
            let text = "set_sandbox needs \"mode\" or \"network\"";
            return self.reply(origin, refused(RefusalCode::InvalidArgument, text));
        }
        let Some(confinement) = self.confinement() else {
            let text = "There is nothing here that could confine tools";
            return self.reply(origin, refused(RefusalCode::Forbidden, text));
        };
        let mode = change.mode.unwrap_or_else(|| confinement.summary().mode);
        if let Some(network) = change.network
            && network != SandboxNetwork::Full
            && !mode.is_confined()
        {
            let (network, mode) = (network.as_str(), mode.as_str());
            let text = format!(
                "The network \"{network}\" needs the mode \"read-only\" or \"workspace-write\": with \"{mode}\", tools use the \
                 network of this machine"
            );
            return self.reply(origin, refused(RefusalCode::InvalidArgument, &text));
        }
        let ask = self.agent.gate().ask_mode();
        self.reply_later(origin, JobOrder::Exclusive, async move {
            let changed = spawn_blocking(move || confinement.change(change).map(|()| confinement.summary()));
            let changed =
                changed.await.map_err(|error| Refusal::new(RefusalCode::Internal, error.to_string()))?;
            let summary = changed.map_err(|text| Refusal::new(RefusalCode::Forbidden, text))?;
            Ok(Answer::SandboxChanged(SandboxSummary { ask, ..summary }))
        });
    }

    /// Notes in the file what a reply to a command about the sandbox says.
    pub(super) fn note_reported_sandbox(&mut self, answer: &Answer) {
        match answer {
            Answer::Sandbox(_) => self.note_sandbox(),
            Answer::SandboxChanged(_) => {
                self.renew_unsandboxed();
                if let Some(confinement) = self.confinement() {
                    self.note(&*confinement);
                }
            }
            _ => {}
        }
    }

    /// Notes in the file what confines the tools, once it has been proved and whenever it has changed.
    pub(super) fn note_sandbox(&mut self) {
        let Some(confinement) = self.confinement().filter(|confinement| confinement.is_active()) else {
            return;
        };
        let ask = self.agent.gate().ask_mode();
        let is_noted = self.noted_sandbox.as_ref().is_some_and(|noted| {
            noted.revision == confinement.revision()
                && noted.report.ask == ask
                && noted.session_id == self.transcript.session_id()
        });
        if !is_noted && confinement.report().is_proved() {
            self.note(&*confinement);
        }
    }

    fn note(&mut self, confinement: &dyn Confinement) {
        // Before the report, which may change after it.
        let revision = confinement.revision();
        let report = SandboxReport { ask: self.agent.gate().ask_mode(), ..confinement.report() };
        let session_id = self.transcript.session_id();
        if let Some(noted) = self.noted_sandbox.as_mut().filter(|noted| noted.session_id == session_id)
            && noted.report == report
        {
            noted.revision = revision;
            return;
        }
        let noted = self.noted_sandbox.as_ref().filter(|noted| noted.session_id == session_id);
        // A file that says nothing means the same.
        if noted.is_none() && !report.mode.is_confined() {
            return;
        }
        // The file cannot be written while it is copied. The next call notes it.
        if self.is_using_files() {
            return;
        }
        let session_id = session_id.to_owned();
        if self.append_note(entry(&report)) {
            self.noted_sandbox = Some(NotedSandbox { session_id, report, revision });
        }
    }

    /// Reports the protected paths that a call changed.
    pub(super) fn report_protected_by(&mut self, index: usize, changes: Vec<ProtectedChange>) {
        let call = self.batch().and_then(|batch| batch.call(index));
        let call_id = call.map(|call| call.id.clone());
        self.report_protected(call_id.as_deref(), changes);
    }

    /// Reports the protected paths that a call or a user-initiated command changed.
    pub(super) fn report_protected(&mut self, call_id: Option<&str>, changes: Vec<ProtectedChange>) {
        for change in changes {
            self.emit(Event::ProtectedPathChanged { call_id: call_id.map(ToOwned::to_owned), change });
        }
    }

    pub(super) fn confinement(&self) -> Option<Arc<dyn Confinement>> {
        self.instructions.toolbox().options().confinement.clone()
    }
}

/// Returns what holds where nothing confines the tools.
fn unconfined(options: &Options) -> SandboxReport {
    let mut report = SandboxReport::unconfined(SandboxMode::FullAccess);
    report.kernel =
        std::fs::read_to_string(KERNEL_RELEASE).map(|release| release.trim().to_owned()).unwrap_or_default();
    report.environment.dropped = options.environment.dropped().to_vec();
    report
}

/// Returns the entry that says what confines the tools. Whoever has the report can compare its digest.
fn entry(report: &SandboxReport) -> EntryBody {
    let serialised = serde_json::to_vec(report).unwrap_or_default();
    let hash = digest(&SHA256, &serialised);
    let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let data = json!({
        "level": report.level,
        "mode": report.mode,
        "network": report.network,
        "writable": report.writable,
        "digest": format!("sha256:{hash}"),
    });
    EntryBody::Custom { custom_type: ENTRY.to_owned(), data: Some(data) }
}
