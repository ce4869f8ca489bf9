import { Type } from 'typebox';
import { Count, setting, type ValuesOf } from '../core/settings.ts';

export const consoleSettings = Type.Object({
  most: setting(Count, 'serial consoles that a server keeps open at most', { default: 10_000 }),
  opening: setting(Count, 'serial consoles that a server opens at the same time', { default: 64 }),
  logSize: setting(Count, 'size of the console log of a node, in bytes, after which muster starts a new file', {
    default: 1 << 20,
    defaultText: '1 MiB',
  }),
  logsKept: setting(Count, 'full log files to keep of each console, as `NODE.log.1` (the newest), `NODE.log.2` ...', {
    default: 3,
  }),
  writeSeconds: setting(Count, 'seconds after which console output is in the log file at the latest', { default: 10 }),
});
export type ConsoleSettings = ValuesOf<typeof consoleSettings>;
