import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
