// `typebox/compile` and `@sinclair/typebox/compiler` for pi's extensions.

import { Compile, Validator } from "../typebox/compile.mjs";

export { Compile, Validator };
export default Compile;
export { ValueErrorType } from "../typebox/messages.mjs";
export const TypeCheck = Validator;

/** The compiler of 0.34. */
export const TypeCompiler = { Compile, Code: (type) => Compile(type).Code() };
