// What a provider of an extension tells of its requests and answers: the handlers of all extensions see them, as they see those
// that bowline sends itself.

import { dispatch } from "./dispatch.mjs";

/** Returns the callbacks among the options of a request. */
export function providerCallbacks(host, call) {
  const tell = (event) => {
    for (const extension of host.extensions()) void dispatch(host, extension, { ...event }, call);
  };
  return {
    async onPayload(payload) {
      let current = payload;
      for (const extension of host.extensions()) {
        current = (await dispatch(host, extension, { type: "before_provider_request", payload: current }, call)) ?? current;
      }
      return current;
    },
    async onResponse({ status, headers } = {}) {
      for (const extension of host.extensions()) {
        await dispatch(host, extension, { type: "after_provider_response", status, headers: { ...headers } }, call);
      }
    },
    onProviderStreamEvent(data, { provider, api, id } = {}) {
      tell({ type: "provider_stream_event", provider, api, model: id, data });
    },
  };
}
