import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Argv = readonly string[];
export type Row = Readonly<Record<string, string>>;

/** What a command printed and how it ended. */
export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface RowChanges {
  readonly removed?: readonly Row[];
  readonly added?: readonly Row[];
}

/** Files that differ afterwards: content, `<changed>`, `<copy>` or null for removed. */
export type FileChanges = Readonly<Record<string, string | null>>;

/** What a command brought about, as recorded and as observed. */
export interface Effects extends Outcome {
  readonly tables?: Readonly<Record<string, RowChanges>>;
  readonly files?: FileChanges;
  readonly after?: readonly (Outcome & { readonly argv: Argv })[];
}

export type Comparison = 'lines' | 'members' | 'usage' | 'shape' | 'code';
export type Need = 'bmc' | 'ssh' | 'net' | 'dhcp';

/** A command of the reference system and what came of it. */
export interface Case extends Effects {
  readonly id: string;
  readonly note: string;
  readonly argv: Argv;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly setup?: readonly Argv[];
  readonly needs?: readonly Need[];
  readonly compare?: Comparison;
}

/** Why muster does something else on purpose, and what that is: the members that differ from the recorded ones. */
export interface Otherwise extends Partial<Omit<Effects, 'after'>> {
  readonly id: string;
  readonly reason: string;
  readonly compare?: Comparison;
  /** What is run first instead, where muster has not what was recorded. */
  readonly setup?: readonly Argv[];
  /** Null: what is asked afterwards says nothing. */
  readonly after?: Effects['after'] | null;
}

/** Names of files of cases, which are also those of the tests that replay them. */
export const collections = ['definitions', 'tables', 'hardware', 'remote', 'boot', 'services'] as const;
export type Collection = (typeof collections)[number];

const data = join(import.meta.dirname, '../../data/cli');
const read = (name: string): string => readFileSync(join(data, name), 'utf8');

export const casesOf = (collection: Collection): Case[] =>
  read(`${collection}.jsonl`)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Case);

export const otherwiseOf = (collection: Collection): Otherwise[] => JSON.parse(read(`otherwise/${collection}.json`));

/** Places where the reference system keeps files that muster does without. */
export const elsewhere: readonly { readonly below: string; readonly reason: string }[] = JSON.parse(
  read('otherwise/files.json'),
);

/** The requests that build the state which every case begins with. */
export const stateRequests: readonly [method: string, path: string, body: unknown][] = JSON.parse(read('state.json'));

/** The case as muster has it. */
export function decided(recorded: Case, otherwise: Otherwise): Case {
  const { reason: _, after, compare, ...members } = otherwise;
  const { compare: recordedCompare, after: recordedAfter, ...rest } = recorded;
  const rule = 'compare' in otherwise ? compare : recordedCompare;
  const asked = after === undefined ? recordedAfter : (after ?? undefined);
  return { ...rest, ...members, ...(rule ? { compare: rule } : {}), ...(asked ? { after: asked } : {}) };
}
