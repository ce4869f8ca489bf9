import { fstatSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import { type LogFile, RotatingFile } from './log-file.ts';

export type { Logger } from 'pino';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

/** Bytes that wait to be written; when nobody takes them, further lines are lost rather than this memory. */
const mostWaiting = 16 << 20;

/** Writes JSON lines to a file or to standard error without blocking; what is buffered at exit is still written. */
export function createLog(level: LogLevel, file?: LogFile): Logger {
  return pino(
    { level, timestamp: timeField, formatters: { level: (label) => ({ level: label }) } },
    file ? new RotatingFile(file, mostWaiting) : standardError(),
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

function standardError(): DestinationStream {
  const stream = inBatches(() => pino.destination({ dest: 2, sync: false, maxLength: mostWaiting }));
  return isJournal() ? withPriorities(stream) : stream;
}

/** The lines of a turn of the event loop in one piece: with every piece pino's stream goes through all that waits in it. */
function inBatches(open: () => DestinationStream): DestinationStream {
  let waiting = '';
  const pass = (): void => {
    const text = waiting;
    waiting = '';
    if (text !== '') stream.write(text);
  };
  // Before the stream has its own, which writes what it was given.
  process.once('exit', pass);
  const stream = open();
  return {
    write(line) {
      if (waiting === '') setImmediate(pass);
      waiting += line;
    },
  };
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
