// Every file of tests: its group, what it needs, and how it runs.
import { globSync } from 'node:fs';
import { checkout, reachOf, textOf } from './imports.ts';
import { type Need, needs } from './needs.ts';

/** What a file of tests may leave behind in its process for the next one: children, sockets, an environment, functions that were replaced. */
const leaves =
  /'node:(child_process|cluster|dgram|https?|net|tls|worker_threads)'|'undici'|\bglobalThis\b|\bprocess\.(chdir|env|on|umask)\b|\bvi\./;

/** This only reads the environment, and waits for the programs that it starts. */
const harmless = 'test/harness/postgresql.ts';

export interface TestFile {
  readonly path: string;
  readonly needs: readonly Need[];
  /** The name of its first need, or of what it does instead. */
  readonly group: string;
  /** It starts no process and no socket, and shares a process: the start of one for each would take longer than most of them. */
  readonly pure: boolean;
  /** It works on a database, and can run on PostgreSQL as well. */
  readonly onPostgres: boolean;
  /** It is among those that always do: what clients see of changes, of the past, of runs and of events. */
  readonly alwaysOnPostgres: boolean;
}

/** Files that look into the file of SQLite, or work on it, and have nothing to look at in PostgreSQL. */
const isAboutSqlite = (path: string): boolean =>
  /^test\/(admin|database|process)\/|^test\/first-start/.test(path) ||
  /better-sqlite3|\boutside\(|muster\.sqlite|'backup'/.test(textOf(path));

/** What opens a database, by itself or in a server that it starts. */
const opens = /^test\/harness\/(server|store)\.ts$/;

const seesDatabase =
  /^test\/(dispatch\/|events\/hub|rest\/(changes|conditional-writes|definition-sets|definitions|endpoint-matrix|exchanges|logins|past|session|statuses|table-rows))/;

/** Machines of the lab have fixed addresses: what uses them cannot run twice at once. */
const fixed = /^test\/lab\/(bound|bmc|dhcp|kea|libvirt|light-bmc|netboot\/(?!door)|oci|redfish|slp|snmp|ssh|vm)/;

function describe(path: string): TestFile {
  const reached = [...reachOf(path, ['test'])];
  const pure = reached.every((each) => each === harmless || !leaves.test(textOf(each)));
  const own = needs.filter(({ by, pureToo }) => (pureToo || !pure) && reached.some((each) => by.test(each)));
  const onPostgres = reached.some((each) => opens.test(each)) && !isAboutSqlite(path);
  return {
    path,
    needs: own,
    group: own[0]?.name ?? (pure ? 'pure' : 'servers'),
    pure,
    onPostgres,
    alwaysOnPostgres: onPostgres && seesDatabase.test(path) && !reached.some((each) => fixed.test(each)),
  };
}

let found: readonly TestFile[] | undefined;

export const testFiles = (): readonly TestFile[] =>
  (found ??= globSync('test/**/*.test.ts', { cwd: checkout }).toSorted().map(describe));

export const isForMachines = ({ needs: own }: TestFile): boolean => own.some(({ machines }) => machines);
