// `typebox/error` and `@sinclair/typebox/errors` for pi's extensions.

import { englishMessage, getErrorFunction, setErrorFunction } from "../typebox/messages.mjs";
import { isRecordLike } from "../typebox/kind.mjs";
import { Value } from "../typebox/value.mjs";

export { ValueErrorType } from "../typebox/messages.mjs";
export const { Errors } = Value;
export const DefaultErrorFunction = englishMessage;
export const GetErrorFunction = getErrorFunction;
export const SetErrorFunction = setErrorFunction;
export const IsValidationError = (value) => isRecordLike(value) && typeof value.keyword === "string" && typeof value.instancePath === "string";
export const IsLocalizedValidationError = (value) => IsValidationError(value) && typeof value.message === "string";
