// Logins as older extensions registered them, apart from a provider. They can be looked up; bowline does not use them.

const logins = new Map();

/** Notes a login. */
export function registerOAuthProvider(provider) {
  logins.set(provider.id, provider);
}

export function unregisterOAuthProvider(id) {
  logins.delete(id);
}

export function resetOAuthProviders() {
  logins.clear();
}

/** Returns a login that an extension registered. */
export function getOAuthProvider(id) {
  return logins.get(id);
}

export function getOAuthProviders() {
  return [...logins.values()];
}

/** Returns what a user would choose a login by. */
export function getOAuthProviderInfoList() {
  return getOAuthProviders().map(({ id, name }) => ({ id, name, available: true }));
}

/** Returns the key of stored credentials, which are renewed if they have ended. */
export async function getOAuthApiKey(id, credentials) {
  const login = logins.get(id);
  const stored = credentials?.[id];
  if (!login || !stored) return null;
  const newCredentials = Date.now() >= stored.expires ? await login.refreshToken(stored) : stored;
  return { newCredentials, apiKey: login.getApiKey(newCredentials) };
}

/** Returns the host that a user means by an address, or `null` if there is none. */
export function normalizeDomain(input) {
  const text = input.trim();
  if (!text) return null;
  try {
    return new URL(text.includes("://") ? text : `https://${text}`).hostname;
  } catch {
    return null;
  }
}
