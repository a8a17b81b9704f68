// The errors of HTTP clients, each of which names status and body differently.

export const MAX_PROVIDER_ERROR_BODY_CHARS = 4000;

/** Returns JSON, or any text for what has none. */
export function safeJsonStringify(value) {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** Returns the beginning of a text with a note about the rest. */
export function truncateErrorText(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)}... [truncated ${text.length - most} chars]`;
}

const isPlainObject = (value) =>
  typeof value === "object" &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value)) &&
  Object.keys(value).length > 0;

function bodyOf(error) {
  if (typeof error.body === "string") return error.body;
  if (isPlainObject(error.error)) return safeJsonStringify(error.error);
  const body = error.$response?.body;
  if (typeof body === "string") return body;
  // A stream that was not read is no body.
  return isPlainObject(body) && typeof body.pipe !== "function" ? safeJsonStringify(body) : "";
}

/** Returns message, status and body of an error. */
export function normalizeProviderError(error) {
  if (!(error instanceof Error)) return { message: safeJsonStringify(error), messageCarriesBody: false };
  const statuses = [error.statusCode, error.status, error.$metadata?.httpStatusCode, error.$response?.statusCode];
  const text = bodyOf(error).trim();
  const body = text ? truncateErrorText(text, MAX_PROVIDER_ERROR_BODY_CHARS) : undefined;
  return {
    status: statuses.find((status) => typeof status === "number"),
    body,
    message: error.message,
    messageCarriesBody: body === undefined || error.message.includes(body),
  };
}

/** Returns a text for people. */
export function formatProviderError({ status, body, message, messageCarriesBody }, prefix) {
  const hasMore = !messageCarriesBody && status !== undefined && body !== undefined;
  const text = hasMore ? body : message;
  if (status === undefined) return message;
  if (prefix !== undefined) return `${prefix} (${status}): ${text}`;
  return hasMore ? `${status}: ${body}` : message;
}

/** Returns headers as an object. */
export function headersToRecord(headers) {
  return Object.fromEntries(headers.entries());
}

/** Returns the headers that have a value. */
export function providerHeadersToRecord(headers) {
  const set = Object.entries(headers ?? {}).filter(([, value]) => value !== null);
  return set.length > 0 ? Object.fromEntries(set) : undefined;
}
