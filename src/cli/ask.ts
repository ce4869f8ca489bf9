import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Invocation, Terminal } from './command.ts';
import { UsageError } from './errors.ts';
import { oneLine } from './output.ts';

/** Asks a person for something that is not shown while it is typed. */
export async function askSecret(question: string, { stdin }: Terminal): Promise<string> {
  if (!stdin) throw new UsageError('A password is needed, and standard input is no terminal to ask at.');
  // Before anybody is asked: what is typed at once would be shown.
  process.stdin.setRawMode(true);
  process.stderr.write(question);
  process.stdin.resume();
  process.stdin.setEncoding('utf8');
  let typed = '';
  try {
    for await (const chunk of process.stdin) {
      for (const letter of chunk as string) {
        if (letter === '\r' || letter === '\n' || letter === '\u0004') return typed;
        if (letter === '\u0003') throw new UsageError('Nothing was typed.');
        if (letter === '\u007F' || letter === '\b') typed = typed.replace(/.$/su, '');
        else typed += letter;
      }
    }
    return typed;
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}

/** Asks a person. Where there is none to ask it is agreed to: scripts are never asked. */
export async function agreed({ terminal, stdout }: Invocation, question: string, yes: boolean): Promise<boolean> {
  if (yes || !terminal.stdin || !terminal.stdout) return true;
  await stdout.flush();
  return asked(question);
}

export async function asked(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D are a no.
  const gone = new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    lines.once('SIGINT', () => lines.close());
  });
  try {
    const answer = await Promise.race([lines.question(`${oneLine(question)} [y/N] `), gone]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

export interface Edited {
  readonly text: string;
  /** Why there is nothing to go by. */
  readonly failure?: string;
  /** Keeps what was written; answers the file it is in. */
  keep(): string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Lets the user change a text in the editor that the environment names. The file is readable to nobody else. */
export async function edited(text: string, name: string, env: Env): Promise<Edited> {
  const directory = mkdtempSync(join(env['TMPDIR'] || tmpdir(), 'muster-edit-'));
  const file = join(directory, name);
  writeFileSync(file, text, { mode: 0o600 });
  const editor = env['TABEDITOR'] || env['VISUAL'] || env['EDITOR'] || 'vi';
  let kept = false;
  const keep = (): string => {
    kept = true;
    return file;
  };
  process.once('exit', () => {
    if (!kept) rmSync(directory, { recursive: true, force: true });
  });
  const failure = await new Promise<string | undefined>((resolve) => {
    // The variable may hold words, which a shell takes apart, as other programs have it.
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    child.once('error', (error) => resolve(`The editor ${editor} cannot be started: ${error.message}.`));
    child.once('close', (code) => resolve(code === 0 ? undefined : `The editor ${editor} ended with ${code}.`));
  });
  return { text: readFileSync(file, 'utf8'), ...(failure === undefined ? {} : { failure }), keep };
}
