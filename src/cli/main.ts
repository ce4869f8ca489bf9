import '../core/source-lines.ts';
import { basename } from 'node:path';
import { isatty } from 'node:tty';
import { Client } from './client.ts';
import { shorthandOf } from './node-shorthand.ts';
import { reportFailure } from './errors.ts';
import type { CommandEntry, Invocation, Terminal } from './command.ts';
import { commands } from './commands/index.ts';
import { processInput } from './input.ts';
import { FileOutput, ReaderGone } from './output.ts';
import { findPlaces } from './places.ts';
import { checkArguments } from './utf8.ts';

/** MUSTER_CALLED is the name bin/muster was called by, which may be a link named like a command. */
const called = basename(process.env['MUSTER_CALLED'] ?? 'muster');
delete process.env['MUSTER_CALLED'];
const words = process.argv.slice(2);
const name = called !== 'muster' && Object.hasOwn(commands, called) ? called : (words.shift() ?? 'help');

const isTerminal = isatty(1);
const stdout = new FileOutput(1, 'standard output', () => isTerminal, isTerminal);
const stderr = new FileOutput(2, 'standard error', () => isatty(2), true);
const terminal: Terminal = {
  get stdin() {
    return isatty(0);
  },
  get stdout() {
    return isTerminal;
  },
  get stderr() {
    return isatty(2);
  },
  get columns() {
    return (isTerminal ? process.stdout.columns : Number(process.env['COLUMNS'])) || 80;
  },
  get colour() {
    return isTerminal && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
  },
};
let interrupt: AbortController | undefined;
const interruption = (): AbortController => (interrupt ??= new AbortController());
const client = new Client(() => findPlaces(process.env), shorthandOf(process.env));

process.once('SIGINT', () => {
  interruption().abort();
  process.once('SIGINT', () => process.exit(130));
});

async function run(entry: CommandEntry): Promise<number> {
  const invocation: Invocation = {
    name,
    isMuster: entry.isMuster === true,
    argv: words,
    env: process.env,
    stdin: processInput,
    stdout,
    stderr,
    terminal,
    client,
    // Made for those who ask: it is loaded for them alone.
    get signal() {
      return interruption().signal;
    },
  };
  try {
    checkArguments(words);
    const command = await entry.load();
    const code = await command.run(invocation);
    await stdout.flush();
    return code;
  } catch (error) {
    return reportFailure(error, invocation);
  }
}

/** The exit status stays unless the warnings cannot be written. */
async function warn(code: number): Promise<number> {
  try {
    for (const note of client.notes) await stderr.line(`Warning: ${note}`);
    return code;
  } catch (error) {
    return error instanceof ReaderGone ? code : code || 1;
  }
}

/** No await outside of functions, so that the bundle can be a script. */
async function main(): Promise<void> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  let code: number;
  if (entry) {
    code = await run(entry);
    // Scripts that call commands of xCAT get what they know, unless nodes do not get what they were given, or what is
    // shown may be old; somebody at a terminal gets all
    // that the server said.
    if (entry.isMuster || terminal.stderr || client.concernsScripts) code = await warn(code);
    if (code !== 0 && client.mistakes.length > 0) {
      const { suggest } = await import('./suggestions.ts');
      await suggest({ client, stderr }, entry.isMuster === true);
    }
  } else {
    const { suggestion } = await import('../core/nearest.ts');
    const meant = suggestion(name, Object.keys(commands));
    stderr.line(`muster: There is no command "${name}".${meant} Call muster help for a list.`);
    code = 2;
  }
  for (const output of [stdout, stderr]) {
    await output.flush().catch((error: unknown) => {
      if (!(error instanceof ReaderGone)) code = code || 1;
    });
  }
  client.close();
  // Everything has left; nothing that is still open is waited for.
  process.exit(code);
}

void main();
