/**
 * Built-in modules for what every command loads. An import would make a list of all that a module offers, and to make it load what nobody
 * uses: fs.promises, fetch and WebSocket, all of util. That takes longer than the rest of a short command.
 */
export const builtin = process.getBuiltinModule;
