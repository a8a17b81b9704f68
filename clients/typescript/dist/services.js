/** What this program does for bowline: tools, addresses, dialogs and approvals. */
import { Approvals } from "./approvals.js";
import { Dialogs } from "./dialogs.js";
import { HostTools } from "./host_tools.js";
import { HostUris } from "./host_uris.js";
export class Services {
    tools;
    uris;
    #dialogs;
    #approvals;
    constructor(options, send, decide, report) {
        this.tools = new HostTools(send);
        this.uris = new HostUris(send);
        if (options.ui !== "manual")
            this.#dialogs = new Dialogs(options.ui ?? {}, send, report);
        if (options.approve !== undefined)
            this.#approvals = new Approvals(options.approve, decide, report);
    }
    /** Does what an event asks for. */
    handle(event) {
        switch (event.type) {
            case "host_tool_call":
                this.tools.call(event);
                break;
            case "host_tool_cancel":
                this.tools.cancel(event.targetId);
                break;
            case "host_uri_request":
                this.uris.request(event);
                break;
            case "host_uri_cancel":
                this.uris.cancel(event.targetId);
                break;
            case "extension_ui_request":
                this.#dialogs?.request(event);
                break;
            case "approval_request":
                void this.#approvals?.request(event);
                break;
            case "approval_resolved":
                this.#approvals?.resolved(event.id);
                break;
            case "agent_settled":
                if (event.aborted)
                    this.#dialogs?.closeAll();
                break;
        }
    }
    /** bowline has gone on without the answers to its dialogs. */
    closeDialogs() {
        this.#dialogs?.closeAll();
    }
    /** The process has ended: nothing can be answered any more. */
    cancelAll() {
        this.tools.cancelAll();
        this.uris.cancelAll();
        this.#dialogs?.closeAll();
        this.#approvals?.closeAll();
    }
}
