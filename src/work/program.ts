import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Fault } from '../core/errors.ts';
import type { ProgramOptions, ProgramResult } from './messages.ts';

/** All that programs of long work get from here; settings and secrets of muster's environment are none of their business. */
export const fixedEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
  HOME: '/root',
};

// By their paths: a program may be given another PATH.
const unshare = '/usr/bin/unshare';
const setpriv = '/usr/bin/setpriv';

// Whatever a process starts ends with it: its namespace of processes ends with the first one in it. That is a shell, since the first one
// has to wait for all that others have left, and Node waits for its own children only.
const apart = [unshare, '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
const waiting = ['/bin/sh', '-c', '"$@" & wait $!', 'sh'];
const withoutNetwork = [unshare, '--net', '--'];
/** The kernel ends it when whoever started it is gone, also after SIGKILL. */
const notLongerThanUs = [setpriv, '--pdeathsig', 'KILL', '--'];

export const childCommand = (isolated: boolean, command: readonly string[]): string[] => [
  ...notLongerThanUs,
  ...(isolated ? [...apart, ...waiting] : []),
  ...command,
];

const programCommand = (isolated: boolean, network: boolean, command: readonly string[]): string[] => [
  ...notLongerThanUs,
  ...(isolated && !network ? withoutNetwork : []),
  ...command,
];

/** Why this process cannot make namespaces; undefined: it can. Only trying shows it, since containers forbid it in many ways. */
export async function isolationProblem(): Promise<string | undefined> {
  const [program, ...args] = childCommand(true, [...withoutNetwork, 'true']);
  try {
    await promisify(execFile)(program!, args, { env: fixedEnvironment });
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    return (stderr || message).trim();
  }
}

/** Characters of a line that are kept. */
const longestLine = 4_096;
const mark = '...';

/** Takes out what a terminal would act on; what else cannot be shown becomes a question mark. */
function harmless(line: string): string {
  // Nearly all lines; the rest costs much more.
  if (/^[ -~]*$/.test(line)) return line;
  return line
    .replaceAll('\t', ' ')
    .replaceAll(/\p{Cc}\[[0-?]*[ -/]*[@-~]/gu, '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '?')
    .toWellFormed();
}

/** Cuts what a program prints into lines that can be shown to anybody, however long they are and whatever is in them. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #take: (line: string) => void;
  #rest = '';
  /** What follows up to the end of the line is too much. */
  #isCut = false;
  #endedByReturn = false;

  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  add(chunk: Buffer | string): void {
    let text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    if (text === '') return;
    if (this.#endedByReturn && text.startsWith('\n')) text = text.slice(1);
    this.#endedByReturn = text.endsWith('\r');
    const pieces = text.split(/\r\n|\r|\n/);
    const last = pieces.pop()!;
    for (const piece of pieces) {
      this.#extend(piece);
      this.#end();
    }
    this.#extend(last);
  }

  /** No more will come. */
  end(): void {
    this.#extend(this.#decoder.end());
    if (this.#rest !== '') this.#end();
  }

  #extend(piece: string): void {
    if (this.#isCut) return;
    const line = this.#rest + piece;
    this.#isCut = line.length > longestLine;
    this.#rest = this.#isCut ? line.slice(0, longestLine) : line;
  }

  #end(): void {
    const line = this.#isCut ? this.#rest + mark : this.#rest;
    this.#rest = '';
    this.#isCut = false;
    this.#take(harmless(line));
  }
}

/** The lines of a text that is there as a whole. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  splitter.add(text);
  splitter.end();
  return lines;
}

interface ProgramPlace {
  readonly signal: AbortSignal;
  readonly isolated: boolean;
  tell(line: string): void;
}

/** Lines that a Fault repeats. */
const repeated = 10;

/** Runs a program to its end, or until the signal says to end it. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
  place: ProgramPlace,
): Promise<ProgramResult> {
  const { signal } = place;
  signal.throwIfAborted();
  // At once: what its caller does meanwhile may keep this process busy for a while.
  const child = start(findProgram(file), args, options, place.isolated);
  const kill = (): boolean => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const last: string[] = [];
  try {
    const [ended] = await Promise.all([
      endOf(child, file, signal, () => read(child, options, place, last)),
      feed(child, options.input).catch((error: unknown) => {
        kill();
        throw error;
      }),
    ]);
    signal.throwIfAborted();
    const { code, killedBy } = ended;
    if (code !== null && (options.expect ?? [0]).includes(code)) return { code };
    const how = killedBy === null ? `with exit code ${code}` : `by signal ${killedBy}`;
    throw new Fault('invalid', [`${file} ended ${how}.`, ...last.filter((line) => line.trim() !== '')]);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

function findProgram(file: string): string {
  const places = isAbsolute(file) ? [file] : fixedEnvironment['PATH']!.split(':').map((place) => join(place, file));
  const found = places.find(isExecutable);
  if (found !== undefined) return found;
  throw new Fault('unavailable', `The program ${file} is missing on this machine; install it and try again.`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function start(
  program: string,
  args: readonly string[],
  { cwd, env, input, network = false }: ProgramOptions,
  isolated: boolean,
): ChildProcess {
  const [first, ...rest] = programCommand(isolated, network, [program, ...args]);
  if (rest.some((word) => word.includes('\0')))
    throw new Fault('invalid', `An argument of ${program} contains a zero byte.`);
  return spawn(first!, rest, {
    cwd,
    env: { ...fixedEnvironment, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
}

/** Hands on what it prints, and keeps the last lines of it. Returns whether it has read anything since the last question. */
function read(
  { stdout, stderr }: ChildProcess,
  { output, stdout: raw }: ProgramOptions,
  { tell }: ProgramPlace,
  last: string[],
): () => boolean {
  let hasRead = false;
  const take = (line: string): void => {
    last.push(line);
    if (last.length > repeated) last.shift();
    if (output) output(line);
    else tell(line);
  };
  const byLine = (stream: Readable): void => {
    const splitter = new LineSplitter(take);
    stream.on('data', (chunk: Buffer) => {
      hasRead = true;
      splitter.add(chunk);
    });
    stream.once('close', () => splitter.end());
  };
  byLine(stderr!);
  if (raw) {
    stdout!.on('data', (chunk: Buffer) => {
      hasRead = true;
      raw(chunk);
    });
  } else byLine(stdout!);
  return () => {
    const answer = hasRead;
    hasRead = false;
    return answer;
  };
}

interface Ended {
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
}

const quietFor = 500;
const noisyFor = 10_000;

/** When it has ended and what it printed is read. What it has left running may keep the pipes open; that is not waited for. */
async function endOf(
  child: ChildProcess,
  file: string,
  signal: AbortSignal,
  beginReading: () => () => boolean,
): Promise<Ended> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exited = new Promise<Ended>((resolve, reject) => {
    child.once('exit', (code, killedBy) => resolve({ code, killedBy }));
    child.once('error', (error) =>
      reject(new Fault('invalid', `${file} could not be started: ${error.message}.`, { cause: error })),
    );
  });
  const hasRead = beginReading();
  const ended = await exited;
  const until = performance.now() + noisyFor;
  for (;;) {
    if (signal.aborted || (await Promise.race([closed.then(() => true), pause(quietFor, false)]))) return ended;
    // What has come while this process was busy is read before the answer counts.
    await turn();
    await turn();
    if (hasRead() && performance.now() < until) continue;
    child.stdout!.destroy();
    child.stderr!.destroy();
  }
}

/** A program need not read to the end what it is given. */
async function feed({ stdin }: ChildProcess, input: ProgramOptions['input']): Promise<void> {
  if (input === undefined) return;
  const source = typeof input === 'string' || Buffer.isBuffer(input) ? new PassThrough().end(input) : input;
  try {
    await pipeline(source, stdin!);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPIPE' && code !== 'ERR_STREAM_PREMATURE_CLOSE' && code !== 'ECONNRESET') throw error;
  }
}
