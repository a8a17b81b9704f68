// An agent with a conversation of its own, as extensions make them beside the session.

import { defaultStreamFn, runAgentLoop, runAgentLoopContinue } from "./agent_loop.mjs";
import { emptyAnswer } from "./event_stream.mjs";
import { createInitialSystemMessage, getCurrentSystemMessage, getCurrentSystemPrompt, toToolDeclaration } from "./transcript.mjs";

const ROLES = ["system", "user", "assistant", "toolResult"];
const NO_MODEL = {
  ...{ id: "unknown", name: "unknown", api: "unknown", provider: "unknown", baseUrl: "", reasoning: false, input: [] },
  ...{ cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 0, maxTokens: 0 },
};

/** Messages that wait for their turn. */
class Queue {
  messages = [];

  constructor(mode = "one-at-a-time") {
    this.mode = mode;
  }

  peek() {
    return this.mode === "all" ? [...this.messages] : this.messages.slice(0, 1);
  }

  drain() {
    const taken = this.peek();
    this.messages = this.messages.slice(taken.length);
    return taken;
  }
}

/** Returns the state of an agent. Lists that are assigned are copied. */
function createState({ systemPrompt, model = NO_MODEL, thinkingLevel = "off", tools = [], messages = [] } = {}) {
  const lists = { tools: [...tools], messages: [...messages] };
  const first = createInitialSystemMessage(systemPrompt, lists.tools.map(toToolDeclaration));
  if (first && lists.messages[0]?.role !== "system") lists.messages.unshift(first);
  return {
    model,
    thinkingLevel,
    isStreaming: false,
    streamingMessage: undefined,
    pendingToolCalls: new Set(),
    errorMessage: undefined,
    get systemPrompt() {
      return getCurrentSystemPrompt(lists.messages);
    },
    get tools() {
      return lists.tools;
    },
    set tools(next) {
      lists.tools = [...next];
    },
    get messages() {
      return lists.messages;
    },
    set messages(next) {
      lists.messages = [...next];
    },
  };
}

const OPTIONS = [
  ...["transformContext", "getApiKey", "onPayload", "onResponse", "beforeToolCall", "afterToolCall", "finishTurn"],
  ...["prepareRequest", "prepareNextTurn", "prepareNextTurnWithContext", "sessionId", "thinkingBudgets", "maxRetryDelayMs"],
];
/** What every run takes over from the agent as it is. */
const FOR_RUN = OPTIONS.filter((name) => !name.startsWith("prepareNextTurn"));

/** An agent: a conversation, tools and a model. */
export class Agent {
  #state;
  #listeners = new Set();
  #steering;
  #followUps;
  #run;

  constructor(options = {}) {
    this.#state = createState(options.initialState);
    this.convertToLlm = options.convertToLlm ?? ((messages) => messages.filter(({ role }) => ROLES.includes(role)));
    this.streamFunction = options.streamFn ?? defaultStreamFn();
    for (const name of OPTIONS) this[name] = options[name];
    this.transport = options.transport ?? "auto";
    this.toolExecution = options.toolExecution ?? "parallel";
    this.#steering = new Queue(options.steeringMode);
    this.#followUps = new Queue(options.followUpMode);
  }

  /** Calls a function at every event. The run waits for it. Returns a function that ends this. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get state() {
    return this.#state;
  }

  get steeringMode() {
    return this.#steering.mode;
  }

  set steeringMode(mode) {
    this.#steering.mode = mode;
  }

  get followUpMode() {
    return this.#followUps.mode;
  }

  set followUpMode(mode) {
    this.#followUps.mode = mode;
  }

  /** Adds a message before the next call of the model. */
  steer(message) {
    this.#steering.messages.push(message);
  }

  /** Adds a message when the run would otherwise end. */
  followUp(message) {
    this.#followUps.messages.push(message);
  }

  clearSteeringQueue() {
    this.#steering.messages = [];
  }

  clearFollowUpQueue() {
    this.#followUps.messages = [];
  }

  clearAllQueues() {
    this.clearSteeringQueue();
    this.clearFollowUpQueue();
  }

  hasQueuedMessages() {
    return this.#steering.messages.length + this.#followUps.messages.length > 0;
  }

  /** Returns the messages that the next turn would take. */
  peekQueuedMessages() {
    const steering = this.#steering.peek();
    return steering.length > 0 ? steering : this.#followUps.peek();
  }

  get signal() {
    return this.#run?.controller.signal;
  }

  abort() {
    this.#run?.controller.abort();
  }

  /** Resolves when nothing is in progress. */
  waitForIdle() {
    return this.#run?.ended ?? Promise.resolve();
  }

  /** Forgets the conversation, except for the system prompt and the tools. */
  reset() {
    if (this.#run) throw new Error("Agent is already processing. Wait for completion before resetting.");
    const first = getCurrentSystemMessage(this.#state.messages);
    this.#state.messages = first ? [first] : [];
    Object.assign(this.#state, { streamingMessage: undefined, pendingToolCalls: new Set(), errorMessage: undefined });
    this.clearAllQueues();
  }

  /** Runs the agent with a text, a message or several. */
  async prompt(input, images = []) {
    if (this.#run) {
      throw new Error(
        "Agent is already processing a prompt. Use steer() or followUp() to queue messages, or wait for completion.",
      );
    }
    const content = [{ type: "text", text: input }, ...images];
    const messages = typeof input === "string" ? [{ role: "user", content, timestamp: Date.now() }] : [input].flat();
    await this.#prompt(messages);
  }

  /** Runs the agent with the conversation as it is, or with what is queued. */
  async continue() {
    if (this.#run) throw new Error("Agent is already processing. Wait for completion before continuing.");
    const { messages } = this.#state;
    if (messages.every(({ role }) => role === "system")) throw new Error("No messages to continue from");
    if (messages.at(-1).role !== "assistant") {
      await this.#carryOut((emit, signal) =>
        runAgentLoopContinue(this.#context(), this.#config(), emit, signal, this.streamFunction),
      );
      return;
    }
    const steering = this.#steering.drain();
    const queued = steering.length > 0 ? steering : this.#followUps.drain();
    if (queued.length === 0) throw new Error("Cannot continue from message role: assistant");
    // One message at a time: the run does not take another one from the same queue at once.
    await this.#prompt(queued, steering.length > 0);
  }

  #prompt(messages, skipsSteering = false) {
    return this.#carryOut((emit, signal) =>
      runAgentLoop(messages, this.#context(), this.#config(skipsSteering), emit, signal, this.streamFunction),
    );
  }

  #context() {
    return { messages: [...this.#state.messages], tools: [...this.#state.tools] };
  }

  #config(skipsSteering = false) {
    const { model, thinkingLevel } = this.#state;
    const prepares = this.prepareNextTurnWithContext || this.prepareNextTurn;
    let skips = skipsSteering;
    return {
      ...Object.fromEntries(FOR_RUN.map((name) => [name, this[name]])),
      model,
      reasoning: thinkingLevel === "off" ? undefined : thinkingLevel,
      transport: this.transport,
      toolExecution: this.toolExecution,
      convertToLlm: this.convertToLlm,
      prepareNextTurn: prepares && ((about) => this.#prepareNextTurn(about)),
      getSteeringMessages: async () => {
        const messages = skips ? [] : this.#steering.drain();
        skips = false;
        return messages;
      },
      getFollowUpMessages: async () => this.#followUps.drain(),
    };
  }

  #prepareNextTurn(about) {
    if (this.prepareNextTurnWithContext) return this.prepareNextTurnWithContext(about, this.signal);
    return this.prepareNextTurn(this.signal);
  }

  async #carryOut(start) {
    const controller = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers();
    this.#run = { controller, ended };
    Object.assign(this.#state, { isStreaming: true, streamingMessage: undefined, errorMessage: undefined });
    try {
      await start((event) => this.#take(event), controller.signal);
    } catch (error) {
      await this.#fail(error, controller.signal.aborted);
    } finally {
      Object.assign(this.#state, { isStreaming: false, streamingMessage: undefined, pendingToolCalls: new Set() });
      this.#run = undefined;
      resolve();
    }
  }

  async #fail(error, isAborted) {
    const message = {
      ...emptyAnswer(this.#state.model, isAborted ? "aborted" : "error"),
      content: [{ type: "text", text: "" }],
      errorMessage: error instanceof Error ? error.message : String(error),
    };
    await this.#take({ type: "message_start", message });
    await this.#take({ type: "message_end", message });
    await this.#take({ type: "turn_end", message, toolResults: [] });
    await this.#take({ type: "agent_end", messages: [message] });
  }

  async #take(event) {
    this.#note(event);
    for (const listener of this.#listeners) await listener(event, this.#run.controller.signal);
  }

  #note({ type, message, toolCallId }) {
    const state = this.#state;
    const pending = new Set(state.pendingToolCalls);
    if (type === "message_start" || type === "message_update") state.streamingMessage = message;
    if (type === "message_end" || type === "agent_end") state.streamingMessage = undefined;
    if (type === "message_end") state.messages.push(message);
    if (type === "tool_execution_start") state.pendingToolCalls = pending.add(toolCallId);
    if (type === "tool_execution_end" && pending.delete(toolCallId)) state.pendingToolCalls = pending;
    if (type === "turn_end" && message.errorMessage) state.errorMessage = message.errorMessage;
  }
}

