import { Fault } from './errors.ts';

const codes = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

/** Whether something failed because the disk is full. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof DiskFull || codes.has(String((error as { code?: unknown } | null)?.code));

/** `what` failed for that. Whoever may not know about this machine does not learn which directory it is in. */
export class DiskFull extends Fault {
  constructor(what: string, directory: string | undefined, cause: unknown) {
    const place = directory === undefined ? 'a file system of the management node' : `the file system of ${directory}`;
    const look = directory === undefined ? 'muster doctor shows which' : `df -h ${directory} shows it`;
    const sentences = [`${what}: ${place} is full.`, `Free some space there (${look}), then try again.`];
    super('unavailable', sentences, { retryAfter: 5, cause });
    this.name = 'DiskFull';
  }
}

/** Part of a file system, and bytes where these are less, below which it is nearly full. */
const littlePart = 0.05;
const little = 1 << 30;

export const isNearlyFull = (free: number, size: number): boolean => free < Math.min(little, size * littlePart);
