import { existsSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ErrorKind, Fault } from '../../../src/core/errors.ts';
import type { ProgramOptions, Work } from '../../../src/work/messages.ts';

export type Step =
  | { readonly tell: string }
  | { readonly progress: readonly [done: number, of: number] }
  /** An answer to the client. */
  | { readonly say: string }
  | {
      readonly program: readonly string[];
      readonly options?: Pick<ProgramOptions, 'network' | 'env' | 'cwd' | 'expect'>;
    }
  /** A staging with a file in it, and a link that leads out of it. */
  | { readonly staging: string; readonly movesOnly?: boolean }
  /** Waits until there is such a file. */
  | { readonly wait: string }
  /** Writes bytes into the last staging, a piece at a time. */
  | { readonly fill: number }
  | { readonly fault: readonly [kind: ErrorKind, ...sentences: string[]] }
  | { readonly error: string }
  | { readonly exit: number }
  /** Never lets anybody else have a turn. */
  | { readonly spin: true }
  /** A value for the database. */
  | { readonly profile: string };

export interface Made {
  readonly said: string[];
  profile?: string;
}

export async function work({ steps }: { readonly steps: readonly Step[] }, task: Work): Promise<Made> {
  const made: Made = { said: [] };
  let staging = '';
  for (const step of steps) {
    if ('tell' in step) task.tell(step.tell);
    else if ('progress' in step) task.progress(...step.progress);
    else if ('say' in step) made.said.push(step.say);
    else if ('program' in step) await task.program(step.program[0]!, step.program.slice(1), step.options);
    else if ('staging' in step) {
      staging = await task.staging(step.staging, { movesOnly: step.movesOnly ?? false });
      await writeFile(join(staging, 'file'), 'content');
      await symlink(step.staging, join(staging, 'link'));
    } else if ('wait' in step) while (!existsSync(step.wait)) await pause(10, undefined, { signal: task.signal });
    else if ('fill' in step) await fill(join(staging, 'filled'), step.fill, task);
    else if ('fault' in step) throw new Fault(step.fault[0], step.fault.slice(1));
    else if ('error' in step) throw new Error(step.error);
    else if ('exit' in step) process.exit(step.exit);
    else if ('spin' in step) for (;;);
    else made.profile = step.profile;
  }
  return made;
}

async function fill(file: string, bytes: number, { signal }: Work): Promise<void> {
  const piece = Buffer.alloc(1 << 20, 1);
  for (let written = 0; written < bytes; written += piece.length) {
    await writeFile(file, piece, { flag: 'a', signal });
    await pause(5, undefined, { signal });
  }
}
