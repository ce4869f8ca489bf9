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
    { level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    file ? new RotatingFile(file, mostWaiting) : standardError(),
  );
}

function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: false, maxLength: mostWaiting });
  return isJournal() ? withPriorities(stream) : stream;
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
