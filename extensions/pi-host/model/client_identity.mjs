// How requests name the program that makes them.

import { arch, platform, release } from "node:os";

export const PI_AI_VERSION = "0.87.1";

/** Returns identities merged, later ones over earlier ones. */
export function mergeClientIdentity(...identities) {
  const pairs = identities.flatMap((identity) => Object.entries(identity ?? {})).filter(([, value]) => value !== undefined);
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined;
}

export function getClientVersion(identity) {
  return identity?.version ?? PI_AI_VERSION;
}

/** Returns the `User-Agent` of an identity. */
export function formatUserAgent(identity) {
  const mode = identity?.userAgent ?? "detailed";
  if (mode === "short") return "pi";
  if (typeof mode === "object") return mode.custom;
  const runtime = process.versions.bun ? `bun/${process.versions.bun}` : `node/${process.versions.node}`;
  return `pi/${getClientVersion(identity)} (${platform()}; ${runtime}; ${arch()})`;
}

/** Returns the `User-Agent` that requests of older versions have. */
export function getPiUserAgent() {
  return `pi (${platform()} ${release()}; ${arch()})`;
}

/** Returns the headers of an identity. Those that credit the program at a provider are bowline's matter. */
export function getIdentityHeaders(_target, identity) {
  return { "User-Agent": formatUserAgent(identity) };
}

export const getAttributionHeaders = () => ({});
