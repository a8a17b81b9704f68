// Logins that a provider of an extension carries out itself, with dialogs of the client: logging in, renewing, making the key.
// bowline stores the credentials and says when one is renewed.

import { bridge } from "../bridge.mjs";

/** What a login that the user gives up ends with. bowline knows it by this. */
const CANCELLED = "Login cancelled";

const ask = (method, params, signal) => bridge.request(method, params, { signal });

/** Asks for something. A question that a login no longer waits for is withdrawn, and its failure is of no interest. */
function answered(method, params, signal) {
  const answer = ask(method, params, signal).then((value) => {
    if (value === null || value === undefined) throw new Error(CANCELLED);
    return value;
  });
  answer.catch(() => {});
  return answer;
}

function detailsOf(options) {
  if (!options.some(({ description }) => description)) return {};
  return { optionDetails: options.map(({ description }) => ({ description })) };
}

async function choose({ message, options }, signal) {
  const labels = options.map(({ label }) => label);
  const chosen = await answered("ui.select", { title: message, options: labels, ...detailsOf(options) }, signal);
  return options.find(({ label }) => label === chosen)?.id;
}

function openPage({ url, instructions }) {
  bridge.notify("ui.openUrl", { url, instructions });
}

function showCode({ userCode, verificationUri }) {
  openPage({ url: verificationUri, instructions: `Enter the code ${userCode}` });
}

const show = (message) => bridge.notify("ui.notify", { message, type: "info" });

/** Returns the functions that a configuration's login calls. */
function callbacks(signal) {
  return {
    onAuth: openPage,
    onDeviceCode: showCode,
    onPrompt: ({ message, placeholder }) => answered("ui.input", { title: message, placeholder }, signal),
    onManualCodeInput: () => answered("ui.input", { title: "Paste the authorization code" }, signal),
    onProgress: show,
    onSelect: (prompt) => choose(prompt, signal),
    signal,
  };
}

/** Returns the functions that a whole provider's login calls. */
function interaction(signal) {
  return {
    signal,
    notify(event) {
      if (event.type === "auth_url") openPage(event);
      else if (event.type === "device_code") showCode(event);
      else show(event.message);
    },
    prompt(prompt) {
      if (prompt.type === "select") return choose(prompt, prompt.signal ?? signal);
      return answered("ui.input", { title: prompt.message, placeholder: prompt.placeholder }, prompt.signal ?? signal);
    },
  };
}

/** Tells whether a provider has a login, and what bowline is told of it; `undefined` if it has none. */
export function loginRecord({ native, config }) {
  if (native) {
    const { oauth, apiKey } = native.auth ?? {};
    if (!oauth?.login && !apiKey?.login) return undefined;
    // A provider that finds a key itself can be used without a login.
    return { name: oauth?.name ?? apiKey?.name ?? native.name, required: apiKey === undefined };
  }
  if (typeof config?.oauth?.login !== "function") return undefined;
  const { name, modifyModels } = config.oauth;
  return { name, required: true, modifiesModels: typeof modifyModels === "function" || undefined };
}

const whole = (credential) => ({ ...credential, type: "oauth" });

/** Logs the user in and returns the credential to store. */
export async function login({ name, native, config }, signal) {
  // What is still being asked when the login is over has nobody who waits for it.
  const end = new AbortController();
  const either = signal ? AbortSignal.any([signal, end.signal]) : end.signal;
  try {
    if (native?.auth?.oauth?.login) return whole(await native.auth.oauth.login(interaction(either)));
    if (native?.auth?.apiKey?.login) return await native.auth.apiKey.login(interaction(either));
    if (typeof config?.oauth?.login === "function") return whole(await config.oauth.login(callbacks(either)));
  } finally {
    end.abort(new Error(CANCELLED));
  }
  throw new Error(`The provider ${name} has no login.`);
}

/** Returns what takes the place of a credential that has expired. */
export async function renew({ name, native, config }, credential, signal = new AbortController().signal) {
  if (native?.auth?.oauth) return whole(await native.auth.oauth.refresh(credential, signal));
  if (!config?.oauth) throw new Error(`The provider ${name} has no login any more.`);
  return whole(await config.oauth.refreshToken(credential, signal));
}

/** Returns what requests are made with by a credential: at least a key. */
export async function authOf({ name, native, config }, credential) {
  if (native?.auth?.oauth) return native.auth.oauth.toAuth(credential);
  if (!config?.oauth) throw new Error(`The provider ${name} has no login any more.`);
  return { apiKey: await config.oauth.getApiKey(credential) };
}
