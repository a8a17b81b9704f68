//! Where a session is with the hosts of its extensions: they start with the session, and end and start again when the
//! session is reloaded or goes on in another folder.

use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::command::Origin;
use bowline_core::hook::SessionReason;
use bowline_extension::TrustQuestion;

use crate::extension::ExtensionInput;
use crate::session::Receipt;

/// How many messages of extensions wait for the start of the session.
const MOST_EARLY: usize = 64;

/// Where a session is with its hosts.
#[derive(Debug)]
pub(crate) struct Attachment {
    phase: Phase,
    /// The extension that has asked for a reload which has not begun.
    reload_for: Option<Arc<str>>,
    /// The prompts whose command has ended with its extension. They are replied to when the new extensions have started.
    held: Vec<HeldPrompt>,
    /// What extensions sent before every extension had started, although it starts a run.
    early: Vec<EarlyInput>,
    /// Keeps anybody from deciding about the project before the new extensions can.
    question: Option<TrustQuestion>,
}

#[derive(Debug)]
enum Phase {
    /// Extensions register, and are then told that the session has started.
    Starting(Occasion),
    /// They were told, or there are none.
    Started,
    /// Extensions are told that they are left.
    Leaving(Occasion),
    /// Their hosts are being stopped; no host is attached.
    Stopping(Occasion),
}

/// Why extensions are started.
#[derive(Debug, Clone)]
pub(crate) struct Occasion {
    pub reason: SessionReason,
    /// The file of the session that was left.
    pub previous_file: Option<PathBuf>,
    /// The names of the extensions that had a say in tool calls before.
    pub guards: Arc<[Arc<str>]>,
}

/// What an extension sent before the session had started.
#[derive(Debug)]
pub(crate) struct EarlyInput {
    /// The place of its host.
    pub host: usize,
    pub input: ExtensionInput,
}

/// A prompt whose command has ended.
#[derive(Debug)]
pub(crate) struct HeldPrompt {
    pub origin: Origin,
    pub receipt: Receipt,
}

impl Attachment {
    /// Returns the attachment of a session whose hosts were attached for this reason.
    pub fn starting(reason: SessionReason) -> Self {
        let occasion = Occasion { reason, previous_file: None, guards: Arc::default() };
        Self {
            phase: Phase::Starting(occasion),
            reload_for: None,
            held: Vec::new(),
            early: Vec::new(),
            question: None,
        }
    }

    /// Tells whether prompts can be taken.
    pub fn is_started(&self) -> bool {
        matches!(self.phase, Phase::Started)
    }

    /// Tells whether the extensions of the session are about to end.
    pub fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving(_))
    }

    /// Returns why extensions are being started.
    pub fn occasion(&self) -> Option<&Occasion> {
        match &self.phase {
            Phase::Starting(occasion) => Some(occasion),
            _ => None,
        }
    }

    /// Begins to leave the extensions. `question` is open until the new ones are attached.
    pub fn leave(&mut self, occasion: Occasion, question: Option<TrustQuestion>) {
        self.phase = Phase::Leaving(occasion);
        self.question = question;
    }

    /// Notes that hosts are attached, which ask for themselves.
    pub fn set_attached(&mut self) {
        self.question = None;
    }

    /// Begins to stop the hosts. Returns why, unless nobody leaves them.
    pub fn stop(&mut self) -> Option<Occasion> {
        let Phase::Leaving(occasion) = &self.phase else { return None };
        let occasion = occasion.clone();
        self.phase = Phase::Stopping(occasion.clone());
        Some(occasion)
    }

    /// Begins to start extensions, once the hosts before them have stopped. Returns why, unless the session has given that
    /// up.
    pub fn take_stopped(&mut self) -> Option<Occasion> {
        let Phase::Stopping(occasion) = &self.phase else { return None };
        let occasion = occasion.clone();
        self.start(occasion.clone());
        Some(occasion)
    }

    /// Begins to start extensions.
    pub fn start(&mut self, occasion: Occasion) {
        self.phase = Phase::Starting(occasion);
    }

    /// Notes that the session has started. Returns the prompts that are to be replied to.
    pub fn set_started(&mut self) -> Vec<HeldPrompt> {
        self.phase = Phase::Started;
        self.take_held()
    }

    /// Keeps a prompt until the new extensions have started.
    pub fn hold(&mut self, prompt: HeldPrompt) {
        self.held.push(prompt);
    }

    /// Tells whether prompts wait for new extensions to start.
    pub fn holds_prompts(&self) -> bool {
        !self.held.is_empty()
    }

    /// Keeps what would start a run until every extension that may have a say in the run has started. Returns whether there
    /// is room for it.
    pub fn keep(&mut self, early: EarlyInput) -> bool {
        let has_room = self.early.len() < MOST_EARLY;
        if has_room {
            self.early.push(early);
        }
        has_room
    }

    /// Tells whether something waits that starts a run.
    pub fn keeps_inputs(&self) -> bool {
        !self.early.is_empty()
    }

    /// Returns what has waited to start a run.
    pub fn take_early(&mut self) -> Vec<EarlyInput> {
        std::mem::take(&mut self.early)
    }

    /// Returns the prompts that are not to wait any longer.
    pub fn take_held(&mut self) -> Vec<HeldPrompt> {
        std::mem::take(&mut self.held)
    }

    /// Notes that an extension has asked for a reload.
    pub fn ask_for_reload(&mut self, extension: Arc<str>) {
        self.reload_for.get_or_insert(extension);
    }

    pub fn is_reload_due(&self) -> bool {
        self.reload_for.is_some()
    }

    /// Returns the extension that has asked for a reload, which begins.
    pub fn take_reload(&mut self) -> Option<Arc<str>> {
        self.reload_for.take()
    }
}
