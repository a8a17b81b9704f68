// What the failure of a model call means: whether the conversation was too large and whether a retry may help.
// The wording of providers' messages is all there is to go by.

const alternatives = (parts) => new RegExp(parts.join("|"), "i");

const OVERFLOW = [
  "prompt (?:is )?too long",
  "request_too_large",
  "input is too long for requested model",
  "exceeds the context window",
  "exceeds (?:the )?(?:model'?s )?maximum context length(?: of [\\d,]+ tokens?|\\s*\\([\\d,]+\\))",
  "input token count.*exceeds the maximum",
  "maximum prompt length is \\d+",
  "reduce the length of the messages",
  "maximum context length is \\d+ tokens",
  "exceeds (?:the )?maximum allowed input length of [\\d,]+ tokens?",
  "input \\(\\d+ tokens\\) is longer than the model'?s context length \\(\\d+ tokens\\)",
  "exceeds the limit of \\d+",
  "exceeds the available context size",
  "greater than the context length",
  "context window exceeds limit",
  "exceeded model token limit",
  "too large for model with \\d+ maximum context length",
  "prompt has [\\d,]+ tokens?, but the configured context size is [\\d,]+ tokens?",
  "model_context_window_exceeded",
  "range of input length should be",
  "context[_ ]length[_ ]exceeded",
  "too many tokens",
  "token limit exceeded",
];

// Messages about the rate of requests may also speak of too many tokens.
const THROTTLED = /^(?:Throttling error|Service unavailable):|rate limit|too many requests/i;
const WITHOUT_BODY = /^4(?:00|13)\s*(?:status code)?\s*\(no body\)/i;

const ACCOUNT_LIMIT = alternatives([
  "(?:Go|Free)UsageLimitError",
  "monthly usage limit reached",
  "available balance",
  "insufficient_quota",
  "out of budget",
  "quota exceeded",
  "billing",
]);

const PASSING = alternatives([
  "overloaded|currently experiencing high demand",
  "rate.?limit|too many requests|429",
  "50[0234]|52[04]",
  "service.?unavailable|server.?error|internal.?error",
  "provider.?returned.?error",
  "exceeded request buffer limit while retrying upstream",
  "network.?error|connection.?(?:error|refused|lost)|other side closed|fetch failed",
  "getaddrinfo|ENOTFOUND|EAI_AGAIN",
  "upstream.?connect|reset before headers|socket hang up|socket connection was closed",
  "timed? out|timeout|terminated",
  "websocket.?(?:closed|error)",
  "ended without|stream ended before (?:message_stop|a terminal response event)",
  "http2 request did not get a response",
  "retry delay",
  "you can retry your request|try your request again|please retry your request",
  "ResourceExhausted",
]);

/** Returns the patterns by which the failure of a too large conversation is recognised. */
export function getOverflowPatterns() {
  return OVERFLOW.map((source) => new RegExp(source, "i"));
}

/** Tells whether an answer shows that the conversation is larger than the model's window. */
export function isContextOverflow(message, contextWindow) {
  const { stopReason, errorMessage, usage, provider } = message;
  if (stopReason === "error" && errorMessage && !THROTTLED.test(errorMessage)) {
    if (alternatives(OVERFLOW).test(errorMessage)) return true;
    if (provider === "cerebras" && WITHOUT_BODY.test(errorMessage)) return true;
  }
  if (!contextWindow) return false;
  // Some servers do not fail: they count more than fits, or cut the input and have no room to answer.
  const input = (usage?.input ?? 0) + (usage?.cacheRead ?? 0);
  if (stopReason === "stop") return input > contextWindow;
  return stopReason === "length" && usage?.output === 0 && input >= contextWindow * 0.99;
}

/** Tells whether an answer was cut below the limit that was asked for. */
export function isRecoverableLength(message, wanted) {
  return message.stopReason === "length" && wanted > 0 && message.usage.output < wanted;
}

/** Tells whether a call that failed so may succeed when it is repeated. */
export function isRetryableAssistantError({ stopReason, errorMessage }) {
  return stopReason === "error" && Boolean(errorMessage) && !ACCOUNT_LIMIT.test(errorMessage) && PASSING.test(errorMessage);
}

export const DEFAULT_MAX_AGENT_RETRY_DELAY_MS = 60_000;

/** Returns how long to wait before an attempt, which are numbered from 1. */
export function retryDelayMs({ baseDelayMs, maxAgentDelayMs }, attempt) {
  const delay = baseDelayMs * 2 ** Math.max(0, attempt - 1);
  return Math.min(
    Number.isSafeInteger(delay) ? delay : Number.MAX_SAFE_INTEGER,
    maxAgentDelayMs ?? DEFAULT_MAX_AGENT_RETRY_DELAY_MS,
  );
}

/** Returns a promise that resolves after a while, or is rejected when the signal aborts. */
export function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Calls a model, again if it failed in a way that may pass. */
export async function retryAssistantCall(produce, policy, signal, callbacks) {
  const most = policy?.enabled ? policy.maxRetries : 0;
  let attempt = 0;
  const finished = async (isSuccess, error) => {
    if (attempt > 0) await callbacks?.onRetryFinished?.(isSuccess, attempt, error);
  };
  for (;;) {
    const answer = await produce();
    if (answer.stopReason === "aborted") {
      await finished(false);
      return answer;
    }
    if (answer.stopReason !== "error") {
      await finished(true);
      return answer;
    }
    if (attempt >= most || !isRetryableAssistantError(answer)) {
      await finished(false, answer.errorMessage);
      return answer;
    }
    attempt += 1;
    const delay = retryDelayMs(policy, attempt);
    const reason = answer.errorMessage || "Unknown error";
    await callbacks?.onRetryScheduled?.(attempt, most, delay, reason);
    try {
      await sleep(delay, signal);
    } catch {
      await finished(false, reason);
      const { errorMessage: _, ...aborted } = answer;
      return { ...aborted, stopReason: "aborted" };
    }
    await callbacks?.onRetryAttemptStart?.();
  }
}

/** Returns a text for anything that was thrown. */
export function formatThrownValue(value) {
  if (value instanceof Error) return value.message || value.name;
  return String(value);
}

/** Returns what can be stored of an error. */
export function extractDiagnosticError(error) {
  if (!(error instanceof Error)) return { name: "ThrownValue", message: formatThrownValue(error) };
  const { name, message, stack, code } = error;
  const isPlain = typeof code === "string" || typeof code === "number";
  return { name: name || undefined, message: message || name, stack, code: isPlain ? code : undefined };
}

/** Returns a note about an error for a message. */
export function createAssistantMessageDiagnostic(type, error, details) {
  return { type, timestamp: Date.now(), error: extractDiagnosticError(error), details };
}

/** Adds a note to a message. */
export function appendAssistantMessageDiagnostic(message, diagnostic) {
  message.diagnostics = [...(message.diagnostics ?? []), diagnostic];
}
