// Errors of a validation: their texts, and the fields of both versions of TypeBox.

import { settings } from "./settings.mjs";

const list = (names) => names.join(", ");

const TEXTS = {
  additionalProperties: () => "must not have additional properties",
  anyOf: () => "must match a schema in anyOf",
  boolean: () => "schema is false",
  const: () => "must be equal to constant",
  contains: () => "must contain at least 1 valid item",
  dependencies: ({ property, dependencies }) => `must have properties ${list(dependencies)} when property ${property} is present`,
  dependentRequired: ({ property, dependencies }) => `must have properties ${list(dependencies)} when property ${property} is present`,
  enum: () => "must be equal to one of the allowed values",
  exclusiveMaximum: ({ comparison, limit }) => `must be ${comparison} ${limit}`,
  exclusiveMinimum: ({ comparison, limit }) => `must be ${comparison} ${limit}`,
  format: ({ format }) => `must match format "${format}"`,
  if: ({ failingKeyword }) => `must match "${failingKeyword}" schema`,
  maxItems: ({ limit }) => `must not have more than ${limit} items`,
  maxLength: ({ limit }) => `must not have more than ${limit} characters`,
  maxProperties: ({ limit }) => `must not have more than ${limit} properties`,
  maximum: ({ comparison, limit }) => `must be ${comparison} ${limit}`,
  minItems: ({ limit }) => `must not have fewer than ${limit} items`,
  minLength: ({ limit }) => `must not have fewer than ${limit} characters`,
  minProperties: ({ limit }) => `must not have fewer than ${limit} properties`,
  minimum: ({ comparison, limit }) => `must be ${comparison} ${limit}`,
  multipleOf: ({ multipleOf }) => `must be multiple of ${multipleOf}`,
  not: () => "must not be valid",
  oneOf: () => "must match exactly one schema in oneOf",
  pattern: ({ pattern }) => `must match pattern "${pattern}"`,
  propertyNames: ({ propertyNames }) => `property names ${list(propertyNames)} are invalid`,
  required: ({ requiredProperties }) => `must have required properties ${list(requiredProperties)}`,
  type: ({ type }) => (Array.isArray(type) ? `must be either ${type.join(" or ")}` : `must be ${type}`),
  unevaluatedItems: () => "must not have unevaluated items",
  unevaluatedProperties: () => "must not have unevaluated properties",
  uniqueItems: () => "must not have duplicate items",
  "~refine": ({ message }) => message,
  "~kind": ({ kind }) => `must be a value of kind ${kind}`,
  "~depth": () => "must not be nested so deeply",
};

/** Returns the English text of an error. */
export function englishMessage(error) {
  return (TEXTS[error.keyword] ?? (() => "an unknown validation error occurred"))(error.params);
}

let errorText = englishMessage;

/** Returns the function that makes the texts of errors. */
export const getErrorFunction = () => errorText;

/** Sets the function that makes the texts of errors. */
export function setErrorFunction(make) {
  errorText = make;
}

/** The error types of 0.34, in the order of their numbers. */
const TYPE_NAMES = [
  "ArrayContains", "ArrayMaxContains", "ArrayMaxItems", "ArrayMinContains", "ArrayMinItems", "ArrayUniqueItems", "Array", "AsyncIterator",
  "BigIntExclusiveMaximum", "BigIntExclusiveMinimum", "BigIntMaximum", "BigIntMinimum", "BigIntMultipleOf", "BigInt", "Boolean",
  "DateExclusiveMaximumTimestamp", "DateExclusiveMinimumTimestamp", "DateMaximumTimestamp", "DateMinimumTimestamp", "DateMultipleOfTimestamp",
  "Date", "Function", "IntegerExclusiveMaximum", "IntegerExclusiveMinimum", "IntegerMaximum", "IntegerMinimum", "IntegerMultipleOf", "Integer",
  "IntersectUnevaluatedProperties", "Intersect", "Iterator", "Kind", "Literal", "Never", "Not", "Null", "NumberExclusiveMaximum",
  "NumberExclusiveMinimum", "NumberMaximum", "NumberMinimum", "NumberMultipleOf", "Number", "ObjectAdditionalProperties",
  "ObjectMaxProperties", "ObjectMinProperties", "ObjectRequiredProperty", "Object", "Promise", "RegExp", "StringFormatUnknown", "StringFormat",
  "StringMaxLength", "StringMinLength", "StringPattern", "String", "Symbol", "TupleLength", "Tuple", "Uint8ArrayMaxByteLength",
  "Uint8ArrayMinByteLength", "Uint8Array", "Undefined", "Union", "Void",
];

/** The numbers of the error types of 0.34, both ways. */
export const ValueErrorType = Object.fromEntries(TYPE_NAMES.flatMap((name, number) => [[name, number], [number, name]]));

const KEYWORD_TYPES = {
  additionalProperties: "ObjectAdditionalProperties", maxProperties: "ObjectMaxProperties", minProperties: "ObjectMinProperties",
  required: "ObjectRequiredProperty", maxItems: "ArrayMaxItems", minItems: "ArrayMinItems", uniqueItems: "ArrayUniqueItems", contains: "ArrayContains",
  format: "StringFormat", maxLength: "StringMaxLength", minLength: "StringMinLength", pattern: "StringPattern", maximum: "NumberMaximum",
  minimum: "NumberMinimum", exclusiveMaximum: "NumberExclusiveMaximum", exclusiveMinimum: "NumberExclusiveMinimum", multipleOf: "NumberMultipleOf",
  const: "Literal", enum: "Union", anyOf: "Union", oneOf: "Union", not: "Not", boolean: "Never",
  unevaluatedProperties: "IntersectUnevaluatedProperties",
};

function typeNumber(keyword, schema) {
  const type = typeof schema?.type === "string" ? schema.type : "";
  const name = keyword === "type" ? type.charAt(0).toUpperCase() + type.slice(1) : KEYWORD_TYPES[keyword];
  return ValueErrorType[name] ?? ValueErrorType.Kind;
}

/** Returns a place that collects errors, up to the limit of the settings. */
export function createSink() {
  return { errors: [], limit: settings.maxErrors };
}

/** Returns false, and records the error if there is a sink with room. */
export function fail(sink, keyword, schemaPath, instancePath, params, schema, value) {
  if (sink !== null && sink.errors.length < sink.limit) {
    const error = { keyword, schemaPath, instancePath, params };
    // 0.34 names them so; hidden, so that an error prints and compares as one of 1.x.
    const old = { path: instancePath, value, schema, type: typeNumber(keyword, schema), errors: [] };
    for (const name of Object.keys(old)) Object.defineProperty(error, name, { value: old[name], enumerable: false });
    sink.errors.push(error);
  }
  return false;
}

/** Returns the errors with their texts. `First()` serves 0.34, where errors come as an iterator. */
export function finishErrors(errors) {
  for (const error of errors) error.message = errorText(error);
  Object.defineProperty(errors, "First", { value: () => errors[0], enumerable: false });
  return errors;
}
