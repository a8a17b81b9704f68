// Turns a JSON Schema (draft 7 or 2020-12, of TypeBox or hand-written) into a validator made of closures.

import * as applicators from "./applicators.mjs";
import { EMPTY, isStable } from "./context.mjs";
import * as keywords from "./keywords.mjs";
import { isObjectLike, isRecordLike } from "./kind.mjs";
import { createSink, fail, finishErrors } from "./messages.mjs";
import { References } from "./references.mjs";
import { settings } from "./settings.mjs";

export { coerce } from "./coerce.mjs";

const isNumeric = (value) => Number.isFinite(value) || typeof value === "bigint";
const isText = (value) => typeof value === "string";

/** Keywords in the order in which their errors appear, by the values that they look at. */
const KEYWORDS = [
  [undefined, [keywords.type]],
  [isRecordLike, [
    keywords.required, applicators.additionalProperties, applicators.dependencies, keywords.dependentRequired, applicators.dependentSchemas,
    applicators.patternProperties, applicators.properties, applicators.propertyNames, ...Object.values(keywords.PROPERTY_COUNT_KEYWORDS),
  ]],
  [Array.isArray, [
    applicators.additionalItems, applicators.contains, applicators.items, ...Object.values(keywords.ITEM_COUNT_KEYWORDS), applicators.prefixItems,
    keywords.uniqueItems,
  ]],
  [isText, Object.values(keywords.STRING_KEYWORDS)],
  [isNumeric, Object.values(keywords.NUMBER_KEYWORDS)],
];
const LOGIC = [
  keywords.constant, keywords.enumeration, applicators.condition, applicators.not, applicators.allOf, applicators.anyOf, applicators.oneOf,
  applicators.unevaluatedItems, applicators.unevaluatedProperties,
];

const always = () => true;

function never(value, sink, _, schemaPath, path) {
  return fail(sink, "boolean", schemaPath, path, {}, false, value);
}

function onlyFor(applies, check) {
  if (applies === undefined) return check;
  return (value, sink, evaluated, schemaPath, path) => !applies(value) || check(value, sink, evaluated, schemaPath, path);
}

function allChecks(checks, lastChecks) {
  if (checks.length === 0 && lastChecks.length === 0) return always;
  return (value, sink, evaluated, schemaPath, path) => {
    if (sink !== null && sink.errors.length >= sink.limit) return false;
    let valid = true;
    for (const check of checks) {
      if (check(value, sink, evaluated, schemaPath, path)) continue;
      if (sink === null) return false;
      valid = false;
    }
    // The functions of extensions only see values that the rest of the schema accepts.
    return valid && lastChecks.every((check) => check(value, sink, evaluated, schemaPath, path));
  };
}

class Compiler {
  #references;
  #compiled = new Map();

  constructor(root, supplied) {
    this.#references = new References(root, supplied);
  }

  get tracksEvaluated() {
    return this.#references.tracksEvaluated;
  }

  compile = (schema) => {
    if (schema === false) return never;
    if (!isObjectLike(schema)) return always;
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    // A schema may contain itself: those inside get a check that looks up the finished one.
    this.#compiled.set(schema, this.#guarded((...parameters) => this.#compiled.get(schema)(...parameters)));
    const check = this.#compileKeywords(schema);
    this.#compiled.set(schema, check);
    return check;
  };

  #compileKeywords(schema) {
    const checks = [];
    for (const [applies, makers] of KEYWORDS) {
      for (const make of makers) {
        const check = make(schema, this.compile, settings);
        if (check !== undefined) checks.push(onlyFor(applies, check));
      }
    }
    for (const name of ["$ref", "$recursiveRef", "$dynamicRef"]) {
      if (typeof schema[name] === "string") checks.push(this.#reference(schema, schema[name]));
    }
    for (const make of LOGIC) {
      const check = make(schema, this.compile);
      if (check !== undefined) checks.push(check);
    }
    const lastChecks = [keywords.kindCheck(schema), keywords.refinements(schema)].filter((check) => check !== undefined);
    return allChecks(checks, lastChecks);
  }

  // The target is compiled at the first use, so that types may refer to each other in a circle.
  #reference(schema, reference) {
    let target;
    return this.#guarded((value, sink, evaluated, _, path) => {
      target ??= this.compile(this.#references.resolve(schema, reference) ?? false);
      const own = applicators.inner(evaluated);
      const valid = target(value, sink, own, "#", path);
      if (valid) applicators.merge(evaluated, own);
      return valid;
    });
  }

  // A check that meets the same value again inside itself adds nothing; going on would never end.
  #guarded(check) {
    const active = [];
    return (value, sink, evaluated, schemaPath, path) => {
      if (active.includes(value)) return true;
      active.push(value);
      try {
        return check(value, sink, evaluated, schemaPath, path);
      } finally {
        active.pop();
      }
    };
  }
}

/**
 * Returns `{check(value), errors(value)}` for a JSON Schema. `supplied` has types by name that `$ref` may mean.
 * Throws when a pattern of the schema is no regular expression.
 */
export function compileSchema(schema, supplied = EMPTY) {
  const compiler = new Compiler(schema, supplied);
  const root = compiler.compile(schema);
  const evaluated = () => (compiler.tracksEvaluated ? applicators.createEvaluated() : null);
  return {
    check(value) {
      try {
        return root(value, null, evaluated(), "", "");
      } catch (error) {
        if (error instanceof RangeError) return false;
        throw error;
      }
    },
    errors(value) {
      const sink = createSink();
      try {
        root(value, sink, evaluated(), "#", "");
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        fail(sink, "~depth", "#", "", {}, schema, value);
      }
      return finishErrors(sink.errors);
    },
  };
}

/** Validators by context and schema. */
const validators = new WeakMap();

/** Returns the validator of a schema, compiled at the first use. Schemas are taken as unchanging, as TypeBox makes them. */
export function validatorOf(schema, context = EMPTY) {
  if (!isObjectLike(schema) || !isStable(context)) return compileSchema(schema, context);
  let known = validators.get(context);
  if (known === undefined) validators.set(context, (known = new WeakMap()));
  let validator = known.get(schema);
  if (validator === undefined) {
    validator = compileSchema(schema, context);
    known.set(schema, validator);
  }
  return validator;
}
