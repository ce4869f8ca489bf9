import { normalize } from 'node:path';
import { checkText } from '../../core/shell-words.ts';

export interface CopyBody {
  readonly src: string | readonly string[];
  readonly target: string;
}

export interface CopyRequest {
  /** Paths here. */
  readonly sources: readonly string[];
  /** A path on the nodes. */
  readonly target: string;
}

/** Rules are asked about the paths, so nothing in them leads back up. Whatever else a name holds is left to those who made it. */
export function readCopyRequest({ src, target }: CopyBody): CopyRequest {
  checkText(target, `the target ${JSON.stringify(target)}`);
  return { sources: (typeof src === 'string' ? [src] : src).map(normalize), target: normalize(inHome(target)) };
}

/** Where no shell reads it, `~` would be a directory of that name; a relative path begins in the home anyway. */
const inHome = (target: string): string => (/^~(\/|$)/.test(target) ? `.${target.slice(1)}` : target);
