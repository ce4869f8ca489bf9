/**
 * Node's module of plain HTTP. Imported by its name it brings Node's own client for WebSockets along, which nobody here uses and which
 * takes a fifteenth of a start.
 */
export const http = process.getBuiltinModule('node:http');
