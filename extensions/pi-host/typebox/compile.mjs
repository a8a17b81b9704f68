// `Compile` of 1.x and `TypeCompiler.Compile` of 0.34: a type with its validator.

import { clean, hasCodec } from "./clean.mjs";
import { matchType } from "./context.mjs";
import { convert } from "./convert.mjs";
import { createValue, fillDefaults } from "./defaults.mjs";
import { compileSchema } from "./validator.mjs";
import { decodeValue, encodeValue, parseValue } from "./value.mjs";

/** A compiled type. */
export class Validator {
  #context;
  #type;
  #validator;
  #hasCodec;

  constructor(context, type) {
    this.#context = context;
    this.#type = type;
    this.#validator = compileSchema(type, context);
    this.#hasCodec = hasCodec(type, context);
  }

  /** Returns false: the validator is made of closures, not of generated code. */
  IsAccelerated() {
    return false;
  }

  Context() {
    return this.#context;
  }

  References() {
    return Object.values(this.#context);
  }

  Type() {
    return this.#type;
  }

  Schema() {
    return this.#type;
  }

  Code() {
    return "// This validator is made of closures and has no code of its own.\nexport function Check(value) { return true }";
  }

  Check(value) {
    return this.#validator.check(value);
  }

  Errors(value) {
    return this.#validator.errors(value);
  }

  Parse(value) {
    return this.Check(value) ? value : parseValue(this.#context, this.#type, value);
  }

  Decode(value) {
    return this.#hasCodec ? decodeValue(this.#context, this.#type, value) : this.Parse(value);
  }

  Encode(value) {
    return this.#hasCodec ? encodeValue(this.#context, this.#type, value) : this.Parse(value);
  }

  Clean(value) {
    return clean(this.#context, this.#type, value);
  }

  Convert(value) {
    return convert(this.#context, this.#type, value);
  }

  Create() {
    return createValue(this.#context, this.#type);
  }

  Default(value) {
    return fillDefaults(this.#context, this.#type, value);
  }
}

/** Returns the validator of a type. */
export function Compile(...parameters) {
  return new Validator(...matchType(parameters));
}
