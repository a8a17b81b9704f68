// Starts the host: connects its parts to the records on stdin and stdout.

import { connect } from "../bridge.mjs";
import { currentRuntime } from "./current.mjs";
import { Host } from "./host.mjs";
import { endProcess, guardProcess } from "./process_guard.mjs";
import { loadFactory, prepareLoader } from "../loader/factory.mjs";
import { Records, claimStreams } from "../records.mjs";

// It says what this process is, not what those are that extensions start.
delete process.env.BOWLINE_EXTENSION;

const streams = claimStreams();
const records = new Records(streams);
const host = new Host({ records, loadFactory, end: () => endProcess(0) });

guardProcess({ isOutputLogged: streams.isOutputLogged, onUncaught: (error) => host.reportUncaught(error) });
connectShims();
try {
  await prepareLoader(process.env.BOWLINE_PI_CACHE);
  records.listen({
    onRecord: (record) => host.take(record),
    onInvalid: (reason) => console.error(`A record was ignored: ${reason}`),
    onEnd: () => endProcess(0),
  });
} catch (error) {
  console.error(error.message);
  endProcess(1);
}

/** Gives shims and parts of the host what they need of it. */
function connectShims() {
  const { requests, services } = host;
  connect({
    state: host.state,
    request: (method, params, options) => requests.request(host.attributed(), method, params, options),
    requestSync: (method, params) => requests.requestSync(host.attributed(), method, params),
    notify: (method, params) => requests.notify(host.attributed(), method, params),
    models: (which) => services.models(which),
    virtualModels: () => host.virtualModels(),
    authStatus: (provider) => services.authStatus(provider),
    invalidateModels: () => services.invalidateModels(),
    currentExtension: () => currentRuntime()?.extension,
    entries: () => host.entries.list(),
    header: () => host.entries.header(),
    runtime: () => {
      const runtime = currentRuntime();
      return runtime && host.createApi(runtime);
    },
    notServed: (what) => {
      throw new Error(`bowline does not serve ${what} to extensions.`);
    },
    log: (level, message) => host.log(level, message),
  });
}
