// Values of a provider's configuration that name variables of the environment.

/** Returns a value with its variables filled in, or `undefined` if one is not set or the value is a command. */
export function resolveValue(value, environment) {
  if (typeof value !== "string" || value.startsWith("!")) return undefined;
  let isWhole = true;
  const text = value.replace(/\$(?:([$!])|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, escaped, braced, plain) => {
    if (escaped) return escaped;
    const name = braced ?? plain;
    const found = environment?.[name] || process.env[name];
    if (!found) isWhole = false;
    return found ?? "";
  });
  return isWhole ? text : undefined;
}

/** Returns the headers whose values are known. */
export function resolveHeaders(headers, environment) {
  const pairs = Object.entries(headers ?? {}).map(([name, value]) => [name, resolveValue(value, environment)]);
  const known = pairs.filter(([, value]) => value !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}
