import { fstatSync } from 'node:fs';
import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';
import { LineSink } from './line-sink.ts';
import { LogFile, type LogFileOptions } from './log-file.ts';
import { withoutWaiting } from './standard-streams.ts';

export type { Logger } from 'pino';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

/** Writes JSON lines to a file or to standard error. A log that cannot be written costs lines, never the service. */
export function createLog(level: LogLevel, file?: LogFileOptions): Logger {
  return pino(
    { level, timestamp: timeField, formatters: { level: (label) => ({ level: label }) } },
    file ? new LineSink(new LogFile(file, lostNote)) : standardError(),
  );
}

let lastTime = 0;
let lastField = '';

/** Lines come many in a millisecond. */
function timeField(): string {
  const now = Date.now();
  if (now !== lastTime) [lastTime, lastField] = [now, `,"time":"${new Date(now).toISOString()}"`];
  return lastField;
}

/** Takes the place of lines that could not be written, at every level. */
function lostNote(lost: number): string {
  const lines = lost === 1 ? '1 line was' : `${lost} lines were`;
  const msg = `${lines} lost here: the log could not be written. Check the room of its disk, or the program that reads it.`;
  return `{"level":"warn"${timeField()},"pid":${process.pid},"hostname":${JSON.stringify(hostname())},"lost":${lost},"msg":${JSON.stringify(msg)}}\n`;
}

function standardError(): DestinationStream {
  const descriptor = withoutWaiting(2);
  if (!isJournal()) return new LineSink({ descriptor, note: lostNote });
  return withPriorities(new LineSink({ descriptor, note: (lost) => `<${priorityOf(40)}>${lostNote(lost)}` }));
}

/** Systemd says by this variable which file of a service leads to its journal. */
function isJournal(): boolean {
  const { dev, ino } = fstatSync(2);
  return process.env['JOURNAL_STREAM'] === `${dev}:${ino}`;
}

/** The journal takes the number in front of a line as its priority. */
function withPriorities(stream: DestinationStream): DestinationStream {
  return {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write(line: string) {
      stream.write(`<${priorityOf(this.lastLevel)}>${line}`);
    },
  } as DestinationStream & { readonly lastLevel: number };
}

/** As syslog counts: 2 critical, 3 error, 4 warning, 6 information, 7 debugging. */
function priorityOf(level: number): number {
  if (level >= 60) return 2;
  if (level >= 50) return 3;
  if (level >= 40) return 4;
  return level >= 30 ? 6 : 7;
}
