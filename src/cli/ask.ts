import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Invocation, Terminal } from './command.ts';
import { UsageError } from './errors.ts';
import { oneLine } from './output.ts';

/** Asks a person for something that is not shown while it is typed. */
export async function askSecret(question: string, { stdin }: Pick<Terminal, 'stdin'>): Promise<string> {
  if (!stdin) throw new UsageError('A password is needed, and standard input is no terminal to ask at.');
  // Before anybody is asked: what is typed at once would be shown.
  process.stdin.setRawMode(true);
  process.stderr.write(question);
  try {
    return await typedLine();
  } finally {
    process.stdin.setRawMode(false);
    process.stderr.write('\n');
  }
}

/** What is typed up to the end of the line. Whoever asks again reads what is typed then. */
function typedLine(): Promise<string> {
  const { stdin } = process;
  let typed = '';
  let end: () => void = () => {};
  const line = new Promise<string>((resolve, reject) => {
    const take = (chunk: string): void => {
      for (const letter of chunk) {
        if (letter === '\r' || letter === '\n' || letter === '\u0004') return resolve(typed);
        if (letter === '\u0003') return reject(new UsageError('Nothing was typed.'));
        if (letter === '\u007F' || letter === '\b') typed = typed.replace(/.$/su, '');
        else typed += letter;
      }
    };
    const gone = (): void => resolve(typed);
    stdin.setEncoding('utf8').on('data', take).once('end', gone).resume();
    end = () => stdin.off('data', take).off('end', gone).pause();
  });
  return line.finally(() => end());
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
  const bytes = readFileSync(file);
  if (failure !== undefined) return { text: '', failure, keep };
  if (isUtf8(bytes)) return { text: bytes.toString('utf8'), keep };
  return { text: '', failure: `What you wrote is not UTF-8 text, so nothing was changed; it is in ${keep()}.`, keep };
}
