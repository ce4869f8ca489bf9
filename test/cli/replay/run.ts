import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Client } from '../../../src/cli/client.ts';
import { commands } from '../../../src/cli/commands/index.ts';
import type { Invocation } from '../../../src/cli/command.ts';
import { reportFailure } from '../../../src/cli/errors.ts';
import type { Output } from '../../../src/cli/output.ts';
import { shorthandOf } from '../../../src/cli/node-shorthand.ts';
import { findPlaces } from '../../../src/cli/places.ts';
import type { Argv, Outcome } from './cases.ts';

const muster = join(import.meta.dirname, '../../../bin/muster');

export interface Call {
  readonly argv: Argv;
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
}

/** As a user runs it. */
export const runProcess = ({ argv, stdin, env }: Call): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = spawn(muster, argv, { env });
    const out: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', (chunk: Buffer) => out[stream].push(chunk));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const text = (stream: 'stdout' | 'stderr'): string => Buffer.concat(out[stream]).toString();
      if (code === null) reject(new Error(`${argv.join(' ')} was ended by ${signal}.`));
      else resolve({ stdout: text('stdout'), stderr: text('stderr'), code });
    });
    // A command that reads nothing may have ended already.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin);
  });

class Gathered implements Output {
  text = '';

  write(text: string): undefined {
    this.text += text;
  }

  draw(): undefined {
    throw new Error('There is no terminal to draw at.');
  }

  line(text: string): undefined {
    this.text += `${text}\n`;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }
}

/** The same without a process of its own, which is cheaper by far. */
export async function runHere(call: Call): Promise<Outcome> {
  const [name = '', ...argv] = call.argv;
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) return runProcess(call);
  const [stdout, stderr] = [new Gathered(), new Gathered()];
  const client = new Client(() => findPlaces(call.env), shorthandOf(call.env));
  const lines = call.stdin.split('\n').slice(0, call.stdin.endsWith('\n') || call.stdin === '' ? -1 : undefined);
  const invocation: Invocation = {
    name,
    isMuster: entry.isMuster === true,
    argv,
    env: call.env,
    stdin: {
      text: () => Promise.resolve(call.stdin),
      async *lines() {
        yield* await Promise.resolve(lines);
      },
    },
    stdout,
    stderr,
    terminal: { stdin: false, stdout: false, stderr: false, columns: 80, colour: false },
    client,
    signal: new AbortController().signal,
  };
  let code: number;
  try {
    code = await (await entry.load()).run(invocation);
  } catch (error) {
    code = reportFailure(error, invocation);
  }
  client.close();
  return { stdout: stdout.text, stderr: stderr.text, code };
}
