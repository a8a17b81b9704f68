// `Value`: operations on values by their types.

import { clean, hasCodec, runCodecs } from "./clean.mjs";
import { matchType, matchValue } from "./context.mjs";
import { convert } from "./convert.mjs";
import { createValue, fillDefaults } from "./defaults.mjs";
import { diff, mutate, patch, Pointer } from "./delta.mjs";
import { deepClone, deepEqual, hash } from "./equality.mjs";
import { repair } from "./repair.mjs";
import { settings } from "./settings.mjs";
import { validatorOf } from "./validator.mjs";

/** A value did not have its type. `cause` is as in 1.x; `error`, `Errors()` are as in 0.34. */
export class AssertError extends Error {
  constructor(source, value, errors) {
    super(source);
    Object.defineProperty(this, "cause", { value: { source, errors, value }, enumerable: false });
    Object.defineProperty(this, "error", { value: errors[0], enumerable: false });
  }

  Errors() {
    return this.cause.errors;
  }
}

export class ParseError extends AssertError {
  constructor(value, errors) {
    super("Parse", value, errors);
  }
}

export class DecodeError extends AssertError {
  constructor(value, errors) {
    super("Decode", value, errors);
  }
}

export class EncodeError extends AssertError {
  constructor(value, errors) {
    super("Encode", value, errors);
  }
}

function assertType(ErrorClass, context, type, value) {
  const validator = validatorOf(type, context);
  if (!validator.check(value)) throw new ErrorClass(value, validator.errors(value));
  return value;
}

/** Returns the value with defaults, conversions and without what the type does not know. */
function corrected(context, type, value) {
  return clean(context, type, convert(context, type, fillDefaults(context, type, deepClone(value))));
}

/** Returns the value if it has the type, else throws. With the setting `correctiveParse`, it is corrected first. */
export function parseValue(context, type, value) {
  if (validatorOf(type, context).check(value)) return value;
  return assertType(ParseError, context, type, settings.correctiveParse ? corrected(context, type, value) : value);
}

export function decodeValue(context, type, value) {
  return runCodecs("Decode", context, type, assertType(DecodeError, context, type, corrected(context, type, value)));
}

export function encodeValue(context, type, value) {
  const encoded = runCodecs("Encode", context, type, deepClone(value));
  return assertType(EncodeError, context, type, corrected(context, type, encoded));
}

const onValue = (operation) => (...parameters) => operation(...matchValue(parameters));

/** Steps of 0.34's `Parse` by name. */
const STEPS = {
  Assert: (context, type, value) => assertType(ParseError, context, type, value),
  Cast: (context, type, value) => repair(context, type, value, false),
  Clean: clean,
  Clone: (context, type, value) => deepClone(value),
  Convert: convert,
  Decode: (context, type, value) => runCodecs("Decode", context, type, value),
  Default: fillDefaults,
  Encode: (context, type, value) => runCodecs("Encode", context, type, value),
};

/** Returns a function that runs `(context, type, value)` steps one after the other. */
export function Pipeline(steps) {
  return onValue((context, type, value) => steps.reduce((result, step) => step(context, type, result), value));
}

export const Parser = Pipeline([(context, type, value) => assertType(ParseError, context, type, corrected(context, type, value))]);

function Parse(...parameters) {
  // 0.34: a list of steps comes first.
  if (!Array.isArray(parameters[0])) return parseValue(...matchValue(parameters));
  const [context, type, value] = matchValue(parameters.slice(1));
  return parameters[0].reduce((result, step) => STEPS[step](context, type, result), value);
}

class ValueAssertError extends AssertError {
  constructor(value, errors) {
    super("Assert", value, errors);
  }
}

/** Operations on values, with the parameters of 1.x and of 0.34. */
export const Value = {
  Assert: onValue((context, type, value) => void assertType(ValueAssertError, context, type, value)),
  Cast: onValue((context, type, value) => repair(context, type, value, false)),
  Check: onValue((context, type, value) => validatorOf(type, context).check(value)),
  Clean: onValue(clean),
  Clone: (value) => deepClone(value),
  Convert: onValue(convert),
  Create: (...parameters) => createValue(...matchType(parameters)),
  Decode: onValue(decodeValue),
  DecodeUnsafe: onValue((context, type, value) => runCodecs("Decode", context, type, value)),
  Default: onValue(fillDefaults),
  Diff: diff,
  Encode: onValue(encodeValue),
  EncodeUnsafe: onValue((context, type, value) => runCodecs("Encode", context, type, value)),
  Equal: (left, right) => deepEqual(left, right),
  Errors: onValue((context, type, value) => validatorOf(type, context).errors(value)),
  HasCodec: (...parameters) => {
    const [context, type] = matchType(parameters);
    return hasCodec(type, context);
  },
  Hash: hash,
  Mutate: mutate,
  Parse,
  Parser,
  Patch: patch,
  Pipeline,
  Pointer,
  Repair: onValue((context, type, value) => assertType(ValueAssertError, context, type, repair(context, type, value, true))),
};
