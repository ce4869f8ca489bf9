import koffi from 'koffi';
import { errorName } from './error-name.ts';

const here = -100;
const exchanging = 2;

type Rename = (fromAt: number, from: string, toAt: number, to: string, flags: number) => number;
let rename: Rename | undefined;

/** Two files or directories of one file system change places in one step: nobody ever finds one of them missing. */
export function exchange(one: string, other: string): void {
  rename ??= koffi
    .load('libc.so.6')
    .func('int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags)');
  if (rename(here, one, here, other, exchanging) === 0) return;
  const code = errorName(koffi.errno());
  throw Object.assign(new Error(`${code}: ${one} and ${other} cannot change places`), { code });
}
