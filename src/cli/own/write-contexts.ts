import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Contexts, contextsFile, readContexts } from '../places.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Replaces the file in one step; it holds tokens, so nobody else may read it. */
export function changeContexts(env: Env, change: (contexts: Contexts) => Contexts): void {
  const file = contextsFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(change(readContexts(env)), null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, file);
}
