//! A call of `task`: its children, at most some at a time, and its progress.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_core::command::InterruptMode;
use bowline_core::limits::{LimitSet, Limits};
use bowline_core::message::{Arguments, Content};
use bowline_core::model::Model;
use bowline_core::policy::{Order, PromptAnswer};
use bowline_core::subagent::{Subagent, SubagentEvent, SubagentProgress, SubagentStatus};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_extension::Resources;
use bowline_session::{Location, children_folder};
use bowline_tools::{BoxFuture, CallContext, Outcome, Progress, Toolbox};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use tokio::sync::Semaphore;

use super::child::{Child, Ended, Line, Place};
use super::inherited::Inherited;
use super::names::Names;
use super::observer::{SHOWN_TASK, beginning};
use super::orders::Orders;
use super::plan::{Means, Plan};
use super::{output_schema, results};
use crate::agent::{Agent, ModelDefaults};
use crate::extension::Extension;
use crate::input::Step;
use crate::pending::{Reporter, panic_message};
use crate::tool_call_states::ToolStep;

/// How often progress is reported at most.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(150);

/// What every subagent reads about its situation.
const SITUATION: &str = "\
You are a subagent: another agent gave you the task in the first message. It does not see your work, only your last answer, \
and nobody answers questions. Do the task and nothing beyond it. End with an answer that contains everything that was asked \
for, or says what is in the way.";

/// What the model reads of a task that an abort overtook.
const NOT_STARTED: &str = "Aborted before it was started.";

/// Everything that a call needs of its session.
#[derive(Debug)]
pub(crate) struct Delegation {
    pub agent: Agent,
    pub toolbox: Toolbox,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub resources: Resources,
    pub working_directory: PathBuf,
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub call_id: String,
    pub place: Place,
    pub permits: Arc<Semaphore>,
    pub names: Arc<Names>,
    /// Those of the session, which take part in its subagents too.
    pub extensions: Vec<Arc<dyn Extension>>,
}

/// What the children of a call are doing.
#[derive(Debug, Clone, Default)]
pub(super) struct Board(Arc<Mutex<Vec<Slot>>>);

/// What has changed on a board.
struct Changes {
    /// The children that have changed.
    fresh: Vec<Arc<Subagent>>,
    all: Vec<Arc<Subagent>>,
}

#[derive(Debug)]
struct Slot {
    subagent: Arc<Subagent>,
    /// Whether it has changed since it was last reported.
    is_fresh: bool,
}

impl Board {
    fn new(subagents: impl Iterator<Item = Arc<Subagent>>) -> Self {
        Self(Arc::new(Mutex::new(subagents.map(|subagent| Slot { subagent, is_fresh: true }).collect())))
    }

    /// Replaces what is known of a child.
    pub fn update(&self, subagent: Arc<Subagent>) {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(subagent.progress.index) {
            *slot = Slot { subagent, is_fresh: true };
        }
    }

    /// Returns what has changed since this was last asked, if anything.
    fn changes(&self) -> Option<Changes> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = slots.iter_mut().filter_map(|slot| {
            let is_fresh = std::mem::take(&mut slot.is_fresh);
            is_fresh.then(|| Arc::clone(&slot.subagent))
        });
        let fresh: Vec<_> = fresh.collect();
        let all = slots.iter().map(|slot| Arc::clone(&slot.subagent)).collect();
        (!fresh.is_empty()).then_some(Changes { fresh, all })
    }

    /// Returns what is known of a child.
    fn get(&self, index: usize) -> Option<Arc<Subagent>> {
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get(index).map(|slot| Arc::clone(&slot.subagent))
    }
}

impl Delegation {
    /// Carries out the call.
    pub fn run(
        self,
        context: CallContext,
        arguments: Arguments,
        reporter: Reporter,
    ) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            match self.children(arguments).await {
                Ok(children) => self.run_children(children, &context, reporter).await,
                Err(problem) => Outcome::error(problem),
            }
        })
    }

    /// Returns the children that the arguments ask for. If one of them cannot be, none is started.
    async fn children(&self, arguments: Arguments) -> Result<Vec<Child>, String> {
        let Orders { context, tasks } = Orders::read(arguments)?;
        let settings = &self.agent.settings().subagents;
        let depth = self.place.depth + 1;
        if depth > settings.max_depth {
            return Err(format!("Subagents cannot be nested more than {} deep.", settings.max_depth));
        }
        let (resources, directory) = (self.resources.clone(), self.working_directory.clone());
        let loading = tokio::task::spawn_blocking(move || resources.agents(&directory));
        let agents = loading.await.map_err(|error| format!("Internal error: {error}"))?;
        let means = Means {
            agents: &agents,
            settings,
            providers: self.agent.providers(),
            toolbox: &self.toolbox,
            model: &self.model,
            thinking: self.thinking,
            may_delegate: depth < settings.max_depth,
        };
        let plans = tasks.into_iter().map(|order| means.plan(order)).collect::<Result<Vec<_>, _>>()?;
        let children = plans.into_iter().enumerate();
        Ok(children.map(|(index, plan)| self.child(index, plan, context.as_deref())).collect())
    }

    fn child(&self, index: usize, plan: Plan, context: Option<&str>) -> Child {
        let folder = self.session_file.as_deref().map(children_folder);
        let name = self.names.take(plan.name.as_deref(), &plan.agent.name, folder.as_deref());
        let location = match folder {
            Some(folder) => Location::File(folder.join(format!("{name}.jsonl"))),
            None => Location::Memory,
        };
        let id = match &self.place.id {
            Some(parent) => format!("{parent}.{name}"),
            None => name,
        };
        // A task that begins with a slash is no command.
        let mut prompt = match context {
            Some(context) => format!("Background:\n{context}\n\nYour task:\n{}", plan.task),
            None => format!("Your task:\n{}", plan.task),
        };
        if let Some(schema) = &plan.output_schema {
            prompt = format!("{prompt}\n\n{}", output_schema::instruction(schema));
        }
        let progress = SubagentProgress {
            index,
            id: id.clone(),
            agent: plan.agent.name.clone(),
            agent_source: plan.agent.source,
            status: SubagentStatus::Pending,
            task: beginning(&plan.task, SHOWN_TASK),
            current_tool: None,
            current_tool_args: None,
            current_tool_start_ms: None,
            recent_tools: Vec::new(),
            recent_output: Vec::new(),
            tool_count: 0,
            requests: 0,
            tokens: 0,
            context_tokens: None,
            context_window: plan.model.context_window,
            cost: 0.0,
            duration_ms: 0,
            resolved_model: plan.model.full_name(),
            error: None,
        };
        Child {
            output_schema: plan.output_schema.clone(),
            agent: self.agent_for(plan),
            place: Place {
                depth: self.place.depth + 1,
                id: Some(id.into()),
                watch: self.place.watch.clone(),
            },
            location,
            parent_id: self.session_id.clone(),
            parent_session: self.session_file.as_ref().map(|file| file.display().to_string()),
            working_directory: self.working_directory.clone(),
            prompt,
            max_runtime: self.agent.settings().subagents.max_runtime,
            progress,
            call_id: self.call_id.clone(),
        }
    }

    /// Returns the agent with the tools, the model and the instructions of a child.
    fn agent_for(&self, plan: Plan) -> Agent {
        self.agent.with(|parts| {
            parts.toolbox = plan.toolbox;
            parts.resources = self.resources.clone();
            parts.hosts = vec![Arc::new(Inherited(self.extensions.clone()))];
            parts.models = ModelDefaults {
                chosen_model: Some(plan.model),
                chosen_thinking_level: Some(plan.thinking),
                later: None,
                ..parts.models.clone()
            };
            // What a child spends is limited by its parent, which learns of it.
            let turns = parts.settings.subagents.max_turns.map(u64::from);
            parts.settings.limits =
                LimitSet { run: Limits { turns, ..Limits::default() }, ..LimitSet::default() };
            // What it changes counts as changed by the call.
            parts.settings.undo.enabled = false;
            parts.system_prompt.additions.push(SITUATION.to_owned());
            if !plan.agent.instructions.is_empty() {
                parts.system_prompt.additions.push(plan.agent.instructions);
            }
            // Nobody is connected to a child: its messages come from the call, and its questions go to its parent.
            parts.policy.prompt_answer = PromptAnswer::OnAdmission;
            parts.policy.order = Order::Concurrent;
            parts.policy.interrupt_mode = InterruptMode::Wait;
        })
    }

    async fn run_children(&self, children: Vec<Child>, context: &CallContext, reporter: Reporter) -> Outcome {
        let started = Instant::now();
        let clock = self.agent.clock().clone();
        let board = Board::new(children.iter().map(|child| self.waiting(&child.progress)));
        let line = Line { reporter, board: board.clone(), cancel: context.cancel.clone(), clock };
        let mut ended: Vec<Option<Ended>> = children.iter().map(|_| None).collect();
        let mut running: FuturesUnordered<_> =
            children.into_iter().map(|child| self.run_child(child, line.clone())).collect();
        let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                next = running.next() => match next {
                    Some((index, result)) => ended[index] = Some(result),
                    None => break,
                },
                _ = ticks.tick() => self.report(&board, context, &line).await,
            }
        }
        let mut ended: Vec<_> = ended.into_iter().flatten().collect();
        for index in results::too_long(&ended) {
            let (options, text) = (self.toolbox.options(), &ended[index].text);
            let file = bowline_tools::keep_text(&options, context.session_id.as_deref(), text).await;
            ended[index].whole_text = file;
        }
        results::outcome(&ended, self.agent.clock().since(started), context.cancel.is_cancelled())
    }

    /// Returns a child that has not started.
    fn waiting(&self, progress: &SubagentProgress) -> Arc<Subagent> {
        Arc::new(Subagent {
            session_file: None,
            parent_call_id: self.call_id.clone(),
            last_update: self.agent.clock().milliseconds(),
            progress: progress.clone(),
        })
    }

    /// Runs a child once there is room for it. A panic in it costs the child alone.
    async fn run_child(&self, child: Child, line: Line) -> (usize, Ended) {
        let index = child.progress.index;
        let (board, cancel) = (line.board.clone(), line.cancel.clone());
        let waiting = self.waiting(&child.progress);
        let permit = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            permit = self.permits.acquire() => permit.ok(),
        };
        let error = match permit {
            None => NOT_STARTED.to_owned(),
            Some(_permit) => match AssertUnwindSafe(child.run(line.clone())).catch_unwind().await {
                Ok(ended) => return (index, ended),
                Err(panic) => format!("Internal error: {}", panic_message(&*panic)),
            },
        };
        let mut subagent = Arc::unwrap_or_clone(board.get(index).unwrap_or(waiting));
        let was_started = subagent.progress.status == SubagentStatus::Running;
        subagent.progress.status =
            if cancel.is_cancelled() { SubagentStatus::Aborted } else { SubagentStatus::Failed };
        subagent.progress.error = Some(error);
        let subagent = Arc::new(subagent);
        board.update(Arc::clone(&subagent));
        if was_started {
            let event = SubagentEvent::Ended(Arc::clone(&subagent));
            line.reporter.send(Step::Tool(ToolStep::Subagent(event))).await;
        }
        (index, Ended { subagent, usage: Usage::default(), text: String::new(), whole_text: None })
    }

    /// Reports what has changed since the last report.
    async fn report(&self, board: &Board, context: &CallContext, line: &Line) {
        let Some(Changes { fresh, all }) = board.changes() else { return };
        if !self.agent.settings().reports_progress {
            return;
        }
        let progress: Vec<_> = all.iter().map(|subagent| &subagent.progress).collect();
        (context.progress)(Progress {
            content: vec![Content::text(results::activity(&progress))],
            details: Some(json!({ "progress": progress })),
        });
        for subagent in
            fresh.into_iter().filter(|subagent| subagent.progress.status == SubagentStatus::Running)
        {
            let step = Step::Tool(ToolStep::Subagent(SubagentEvent::Progress(subagent)));
            tokio::select! {
                biased;
                () = line.cancel.cancelled() => return,
                _ = line.reporter.send(step) => {}
            }
        }
    }
}
