// `typebox/schema` for pi's extensions: validation of JSON Schema without TypeBox's types.

import { matchType, matchValue } from "../typebox/context.mjs";
import { Pointer } from "../typebox/delta.mjs";
import { isRecordLike } from "../typebox/kind.mjs";
import { compileSchema, validatorOf } from "../typebox/validator.mjs";
import { ParseError } from "../typebox/value.mjs";

export { ParseError, Pointer };

/** Returns whether a value fulfils a schema. */
export function Check(...parameters) {
  const [context, schema, value] = matchValue(parameters);
  return validatorOf(schema, context).check(value);
}

/** Returns `[valid, errors]`. */
export function Errors(...parameters) {
  const [context, schema, value] = matchValue(parameters);
  const errors = validatorOf(schema, context).errors(value);
  return [errors.length === 0, errors];
}

/** Returns the value if it fulfils the schema, else throws. */
export function Parse(...parameters) {
  const [context, schema, value] = matchValue(parameters);
  const validator = validatorOf(schema, context);
  if (!validator.check(value)) throw new ParseError(value, validator.errors(value));
  return value;
}

/** A compiled schema. */
export class Validator {
  #context;
  #schema;
  #validator;

  constructor(context, schema) {
    this.#context = context;
    this.#schema = schema;
    this.#validator = compileSchema(schema, context);
  }

  IsAccelerated() {
    return false;
  }

  Context() {
    return this.#context;
  }

  Schema() {
    return this.#schema;
  }

  Check(value) {
    return this.#validator.check(value);
  }

  Errors(value) {
    const errors = this.#validator.errors(value);
    return [errors.length === 0, errors];
  }

  Parse(value) {
    if (!this.Check(value)) throw new ParseError(value, this.#validator.errors(value));
    return value;
  }
}

export const Compile = (...parameters) => new Validator(...matchType(parameters));
export const IsSchemaObject = isRecordLike;
export const IsSchemaBoolean = (value) => typeof value === "boolean";
export const IsSchema = (value) => IsSchemaObject(value) || IsSchemaBoolean(value);

const Schema = { Check, Compile, Errors, IsSchema, IsSchemaBoolean, IsSchemaObject, Parse, ParseError, Pointer, Validator };
export default Schema;
