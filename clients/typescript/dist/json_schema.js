/**
 * The part of JSON Schema that describes the arguments of most tools: as a type, so that the function of a tool knows what
 * it gets, and as a check, because a model may send anything.
 *
 * What is not known here (`anyOf`, `pattern`, `$ref`, …) is `unknown` as a type and is not checked.
 */
/** Deeper values are not checked. */
const DEPTH = 32;
/** Returns what is wrong with a value, with the place where it is, or nothing. */
export function mismatch(schema, value, place = "arguments", depth = 0) {
    if (depth > DEPTH)
        return undefined;
    const kinds = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
    if (kinds.length > 0 && !kinds.some((kind) => isOfKind(kind, value))) {
        return `${place}: ${kinds.join(" or ")} expected, not ${kindOf(value)}`;
    }
    if ("const" in schema && !isEqual(schema.const, value))
        return `${place}: only ${JSON.stringify(schema.const)} is possible`;
    if (schema.enum !== undefined && !schema.enum.some((one) => isEqual(one, value))) {
        return `${place}: one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")} expected`;
    }
    if (Array.isArray(value))
        return inItems(schema, value, place, depth);
    if (typeof value === "object" && value !== null)
        return inProperties(schema, value, place, depth);
    return undefined;
}
function inItems(schema, values, place, depth) {
    if (schema.items === undefined)
        return undefined;
    for (const [index, value] of values.entries()) {
        const problem = mismatch(schema.items, value, `${place}[${index}]`, depth + 1);
        if (problem !== undefined)
            return problem;
    }
    return undefined;
}
function inProperties(schema, value, place, depth) {
    const missing = schema.required?.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined)
        return `${place}: "${missing}" is missing`;
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
        if (!Object.hasOwn(value, name))
            continue;
        const problem = mismatch(inner, value[name], `${place}.${name}`, depth + 1);
        if (problem !== undefined)
            return problem;
    }
    return undefined;
}
function isOfKind(kind, value) {
    return kind === "integer" ? Number.isInteger(value) : kindOf(value) === kind;
}
function kindOf(value) {
    if (value === null)
        return "null";
    return Array.isArray(value) ? "array" : typeof value;
}
function isEqual(one, other) {
    return one === other || JSON.stringify(one) === JSON.stringify(other);
}
