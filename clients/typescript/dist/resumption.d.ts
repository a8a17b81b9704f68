import type { SessionChoice } from "./options.js";
import type { CommandName, State } from "./protocol.js";
export declare class Resumption {
    #private;
    /** Takes note of a command that has succeeded. */
    remember(name: CommandName, fields: object): void;
    /** Takes note of the session. */
    open(state: State): void;
    /** Returns the session to open again. */
    session(): SessionChoice | undefined;
    /** Returns the commands to send again. */
    commands(): [CommandName, object][];
}
/** Whether another session may be open after a command. */
export declare function changesSession(name: CommandName): boolean;
