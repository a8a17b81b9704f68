// Streams of events that one side pushes and the other reads, and the answers of models as such streams.

/** Events that are pushed, read with `for await`, and end in one result. */
export class EventStream {
  #events = [];
  #readers = [];
  #isClosed = false;
  #isComplete;
  #extractResult;
  #settle;
  #outcome;

  constructor(isComplete, extractResult) {
    this.#isComplete = isComplete;
    this.#extractResult = extractResult;
    this.#outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Adds an event. Events after the last one are dropped. */
  push(event) {
    if (this.#isClosed) return;
    if (this.#isComplete(event)) {
      this.#isClosed = true;
      this.#settle(this.#extractResult(event));
    }
    const reader = this.#readers.shift();
    if (reader) reader({ value: event, done: false });
    else this.#events.push(event);
  }

  /** Ends the stream, with a result if no event has given one. */
  end(result) {
    this.#isClosed = true;
    if (result !== undefined) this.#settle(result);
    for (const reader of this.#readers.splice(0)) reader({ value: undefined, done: true });
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      if (this.#events.length > 0) {
        yield this.#events.shift();
        continue;
      }
      if (this.#isClosed) return;
      const next = await new Promise((resolve) => this.#readers.push(resolve));
      if (next.done) return;
      yield next.value;
    }
  }

  /** Returns a promise of the result. */
  result() {
    return this.#outcome;
  }
}

function finalMessage(event) {
  if (event.type === "done") return event.message;
  if (event.type === "error") return event.error;
  throw new Error(`An event of the type ${event.type} has no final message`);
}

/** The answer of a model as it arrives. Its result is the message, also that of a failure. */
export class AssistantMessageEventStream extends EventStream {
  constructor() {
    super((event) => event.type === "done" || event.type === "error", finalMessage);
  }
}

/** Returns a stream for the answer of a model. */
export function createAssistantMessageEventStream() {
  return new AssistantMessageEventStream();
}

/** Returns the usage of a call that has used nothing. */
export function noUsage() {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}

/** Returns an answer of a model without content. */
export function emptyAnswer(model, stopReason) {
  return {
    role: "assistant",
    content: [],
    api: model?.api,
    provider: model?.provider,
    model: model?.id,
    usage: noUsage(),
    stopReason,
    timestamp: Date.now(),
  };
}

/** Ends a stream with a failure. What has arrived so far stays part of the message. */
export function failStream(stream, message, error, reason = "error") {
  const failed = { ...message, stopReason: reason, errorMessage: error instanceof Error ? error.message : String(error) };
  stream.push({ type: "error", reason, error: failed });
  stream.end(failed);
}

async function forward(source, target) {
  for await (const event of source) target.push(event);
  target.end(typeof source.result === "function" ? await source.result() : undefined);
}

/** Returns a stream at once whose source is only being prepared. If that fails, the stream ends with the failure. */
export function lazyStream(model, prepare) {
  const stream = createAssistantMessageEventStream();
  Promise.resolve()
    .then(prepare)
    .then((source) => forward(source, stream))
    .catch((error) => failStream(stream, emptyAnswer(model, "error"), error));
  return stream;
}

/** Returns the functions of an API whose module is loaded when it is first called. */
export function lazyApi(load, capabilities = {}) {
  const api = {};
  for (const method of ["stream", "streamSimple"]) {
    api[method] = (model, context, options) =>
      lazyStream(model, async () => (await load())[method](model, context, options));
  }
  const required = (loaded, method) => {
    if (typeof loaded[method] !== "function") throw new Error("The API has no deferred answers");
    return loaded[method].bind(loaded);
  };
  if (capabilities.fetchDeferred) {
    api.fetchDeferred = (model, handle, options) =>
      lazyStream(model, async () => required(await load(), "fetchDeferred")(model, handle, options));
  }
  if (capabilities.cancelDeferred) {
    api.cancelDeferred = async (model, handle, options) =>
      required(await load(), "cancelDeferred")(model, handle, options);
  }
  return api;
}
