export { Consoles, type ConsoleParts, mayUseConsole } from './consoles.ts';
export { isMarked } from './kept.ts';
export { mostLogLines } from './logs.ts';
export { type ConsoleMessage, type ConsoleRequest, checkRequest, requestSchema } from './messages.ts';
export { consoleSettings } from './settings.ts';
export type { ViewerSink } from './viewer.ts';
