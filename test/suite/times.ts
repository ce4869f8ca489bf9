// How long each file of tests takes: what runs first follows from it, and when a file hangs. `npm test -- --write-times` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { testFiles } from './files.ts';
import { checkout } from './imports.ts';

export interface FileTime {
  readonly group: string;
  /** From its start to its end, beside others. */
  readonly seconds: number;
  /** Of processors, by the file and the programs that it has waited for. */
  readonly cpu: number;
}

/** By the path of a file, after the name of its project where that is not the only one. */
export type Times = Readonly<Record<string, FileTime>>;

const place = join(checkout, 'test/times.json');

export const keyOf = (project: string, path: string): string =>
  project === 'postgresql' || project === 'long' ? `${project} ${path}` : path;

export const readTimes = (): Times => JSON.parse(readFileSync(place, 'utf8')) as Times;

/** Takes over what a run has measured, and forgets files that are no longer there. */
export function writeTimes(measured: Times): void {
  const files = new Map(testFiles().map((file) => [file.path, file]));
  const times = Object.entries({ ...readTimes(), ...measured }).flatMap(([key, time]) => {
    const file = files.get(key.replace(/^\w+ /, ''));
    const runs = file && (file.alwaysOnPostgres || !key.startsWith('postgresql '));
    return runs ? [[key, { ...time, group: file.group }] as const] : [];
  });
  const lines = times
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { group, seconds, cpu }]) => `  ${JSON.stringify(key)}: ${JSON.stringify({ group, seconds, cpu })}`);
  writeFileSync(place, `{\n${lines.join(',\n')}\n}\n`);
}

/** Tests that wait for each other keep two processes busy for each processor. What else runs here takes time from them. */
const usualLoad = 2;

/** Seconds after which a file hangs. */
export function longestFor(time: FileTime | undefined): number {
  const busy = Math.max(1, loadavg()[0]! / (usualLoad * availableParallelism()));
  return busy * Math.max(300, 5 * (time?.seconds ?? 120));
}
