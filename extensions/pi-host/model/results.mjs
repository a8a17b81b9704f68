// Results that are values, and errors with a tag, as pi-agent-core has them.

/** Returns a success. */
export function ok(value) {
  return { ok: true, value };
}

/** Returns a failure. */
export function err(error) {
  return { ok: false, error };
}

export const Result = { ok, err, isOk: (result) => result.ok, isErr: (result) => !result.ok };

/** Returns the value of a success; throws the error of a failure. */
export function getOrThrow(result) {
  if (!result.ok) throw result.error;
  return result.value;
}

/** Returns the value of a success. */
export function getOrUndefined(result) {
  return result.ok ? result.value : undefined;
}

/** Returns an error for anything that was thrown. */
export function toError(thrown) {
  if (thrown instanceof Error) return thrown;
  if (typeof thrown === "string") return new Error(thrown);
  try {
    return new Error(JSON.stringify(thrown));
  } catch {
    return new Error(String(thrown));
  }
}

/** Returns a class of errors that are told apart by a tag. */
export function TaggedError(tag) {
  return class Tagged extends Error {
    _tag = tag;

    constructor(fields) {
      super(fields.message);
      Object.assign(this, fields, { name: tag });
    }

    toJSON() {
      const { _tag, ...fields } = this;
      return { _tag, message: this.message, ...fields };
    }

    static is(value) {
      return value instanceof Tagged;
    }
  };
}

/** Calls the function for the tag of an error. */
export function matchError(error, matchers) {
  return matchers[error._tag](error);
}
