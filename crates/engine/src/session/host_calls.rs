//! What the client is asked to do. A call is open until the client ends it, says nothing for too long, or nobody wants it
//! any more; whoever made it gets an end in every case.

use std::sync::Arc;

use bowline_core::event::{Event, ToolReport};
use bowline_core::host::{ClientFiles, HostCall, HostProgress, HostReport};
use bowline_core::message::Arguments;
use bowline_tools::{Editor, Progress, Tool};
use tokio::sync::Notify;

use super::Session;
use crate::client_editor::ClientEditor;
use crate::host::{self, AddressTool, HostCallEnd, HostLink, HostRequest, OpenHostCall};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

impl Session {
    /// Asks the client to do something.
    pub(super) fn open_host_call(&mut self, request: HostRequest) {
        let HostRequest { work, cancel, progress, limit, reply } = request;
        if self.shutting_down || cancel.is_cancelled() {
            let _ = reply.send(HostCallEnd::Aborted);
            return;
        }
        let limit = limit.or(self.agent.settings().host_call_limit);
        let heard = Arc::new(Notify::new());
        let open = OpenHostCall { progress, reply, heard: Arc::clone(&heard) };
        let id = self.pending.start(Awaited::HostCall(open), |reporter| async move {
            let end = host::given_up(limit, &heard, &cancel).await;
            reporter.send(Step::HostCallOver(end)).await;
        });
        let token = self.agent.clock().token();
        self.emit(Event::HostCall(HostCall { id: id.into(), token, work }));
    }

    /// Takes what the client says about a call. A report about one that is unknown or over is ignored.
    pub(super) fn host_reported(&mut self, report: HostReport) {
        let id = PendingId::from(report.id);
        let Some(Awaited::HostCall(open)) = self.pending.awaited(id) else { return };
        let end = match report.progress {
            HostProgress::Update(ToolReport { content, details, .. }) => {
                open.heard.notify_one();
                (open.progress)(Progress { content, details });
                return;
            }
            HostProgress::Done { result, is_error } => HostCallEnd::Done { result, is_error },
            HostProgress::Resolved(result) => HostCallEnd::Resolved(result),
            HostProgress::Invalid(problem) => HostCallEnd::Invalid(problem),
        };
        if let Some(Awaited::HostCall(open)) = self.pending.remove(id) {
            self.emit(Event::HostCallOver { id: id.into(), cancel: None });
            let _ = open.reply.send(end);
        }
    }

    /// Ends a call that the client has not ended, and tells the client to stop.
    pub(super) fn cancel_host_call(&mut self, id: PendingId, end: HostCallEnd) {
        let Some(Awaited::HostCall(open)) = self.pending.remove(id) else { return };
        let cancel = Some(self.agent.clock().token());
        self.emit(Event::HostCallOver { id: id.into(), cancel });
        let _ = open.reply.send(end);
    }

    /// Returns the tool, or one that asks the client if the arguments name one of its addresses.
    pub(super) fn with_addresses(&self, tool: Arc<dyn Tool>, arguments: &Arguments) -> Arc<dyn Tool> {
        match tool.traits().and_then(|traits| self.addresses.access(traits, arguments)) {
            Some(access) => Arc::new(AddressTool { tool, access, link: self.host_link() }),
            None => tool,
        }
    }

    /// Has changes of files go through the client from now on, or not any more.
    pub(super) fn set_client_files(&mut self, files: ClientFiles) {
        let is_wanted = files.writes && self.agent.settings().editor_writes;
        let folder = self.transcript.working_directory().to_owned();
        let make = || Arc::new(ClientEditor::new(files, self.host_link(), folder)) as Arc<dyn Editor>;
        self.editor = is_wanted.then(make);
    }

    /// Returns the way from a tool to the client.
    pub(super) fn host_link(&self) -> HostLink {
        let (inputs, session) = self.pending.way_back();
        HostLink::new(inputs.clone(), session)
    }
}
