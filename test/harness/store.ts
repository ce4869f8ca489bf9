import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusals } from '../../src/access/refusals.ts';
import { SecretBox } from '../../src/access/secrets.ts';
import type { Answer, AnyCommand, Command } from '../../src/commands/command.ts';
import type { NodeResult } from '../../src/core/results.ts';
import type { Origin } from '../../src/database/changeset.ts';
import type { AuditRecord, Database } from '../../src/database/database.ts';
import { type Columns, Draft, type Seal } from '../../src/database/draft.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import { keyOf, type Row, tableNamed } from '../../src/database/tables.ts';
import { Hardware } from '../../src/drivers/hardware.ts';
import { dispatch } from '../../src/dispatch/dispatch.ts';
import type { DispatchServices, Outcome, Request } from '../../src/dispatch/request.ts';
import { Runs } from '../../src/dispatch/runs.ts';
import { sealer } from '../../src/objects/accounts.ts';
import { NodeCatalog } from '../../src/objects/catalog.ts';
import { Effects, nodeEffects } from '../../src/nodes/effects.ts';
import { machineEffects } from '../../src/machines/effects.ts';
import { NodeStatus } from '../../src/nodes/node-status.ts';
import { databaseOf } from './postgresql.ts';
import { ServiceProcessorTrust } from '../../src/drivers/bmc/certificate-trust.ts';
import { SshHostKeys } from '../../src/nodes/ssh-keys.ts';

export const testOrigin: Origin = { user: 'root', client: '127.0.0.1', command: 'test', run: 'run' };

export const auditRecord = (time: number, user = 'alice'): AuditRecord => ({
  time,
  user,
  client: '10.0.0.9',
  command: 'rpower',
  noderange: 'n1',
  args: 'on',
  status: 'Allowed',
  request: 'q-1',
});

/** Of the password "cluster". */
const rootHash = '$y$j9T$5ZJdlh2G/vpOAv2XDf/vW.$5WMfa6j4EBBsdVEpSRM..DxtQVL79uH7EBYYpyCodJ5';

/** The rows every cluster under test begins with: somebody must be allowed to do everything. */
export const governors: readonly (readonly [table: string, row: Row])[] = [
  ['policy', { priority: '1', name: 'root', rule: 'allow' }],
  ['passwd', { key: 'xcat', username: 'root', password: rootHash }],
];

/** A scratch directory that goes away when the test process does the cleaning. */
export const scratchDirectory = (): string => mkdtempSync(join(tmpdir(), 'muster-test-'));

export interface TestStore {
  readonly file: string;
  readonly store: Store;
  readonly box: SecretBox;
  readonly services: DispatchServices;
  readonly current: Snapshot;
  /** Runs a command as root, the way a request would. */
  run<Args>(command: Command<Args>, args: Args, options?: Partial<Request>): Promise<Outcome>;
  /** Puts rows by merging columns, as every write does. */
  put(...rows: readonly (readonly [table: string, row: Columns])[]): Promise<void>;
  rows(table: string): Row[];
  close(): Promise<void>;
}

/** A database that tells nothing of what others commit: whoever uses it hears of that only when it writes. */
export const silent = (database: Database): Database => ({
  load: () => database.load(),
  write: (batch) => database.write(batch),
  changesAfter: (sequence) => database.changesAfter(sequence),
  watch: () => () => undefined,
  silence: () => database.silence(),
  readJournal: (query) => database.readJournal(query),
  readChanges: (after, until) => database.readChanges(after, until),
  oldestEntry: () => database.oldestEntry(),
  revisionAt: (time) => database.revisionAt(time),
  readLog: (query) => database.readLog(query),
  storedOrder: (table) => database.storedOrder(table),
  prune: (retention) => database.prune(retention),
  pruneLog: (table, before, kept) => database.pruneLog(table, before, kept),
  claimForm: () => database.claimForm(),
  shared: database.shared,
  close: () => database.close(),
});

export interface TestStoreOptions {
  readonly audit?: boolean;
  /** What stands between the store and the database. */
  readonly around?: (database: Database) => Database;
}

export async function memoryStore({
  audit = false,
  around = (database) => database,
}: TestStoreOptions = {}): Promise<TestStore> {
  const directory = scratchDirectory();
  const file = join(directory, 'muster.sqlite');
  const url = await databaseOf(directory);
  const database = url === undefined ? await SqliteDatabase.open(file) : await PostgresDatabase.open({ url });
  const store = await Store.open(around(database));
  const box = SecretBox.open(join(directory, 'key'));
  const seal: Seal = sealer(box);
  const status = new NodeStatus(store, (error) => {
    throw error;
  });
  const certificates = new ServiceProcessorTrust(store, undefined);
  const hostKeys = new SshHostKeys(store, 'first-use');
  // Commands that touch hardware or nodes get what they need for it from their tests.
  const services = {
    store,
    workerServices: {},
    hardware: new Hardware(new Map(), box),
    effects: new Effects(
      {
        ...nodeEffects({
          store,
          status,
          certificates,
          hostKeys,
          events: { power: () => undefined },
          expectBoot: () => Promise.resolve(),
        }),
        ...machineEffects({ store, audit: true }),
        firmware: () => Promise.resolve(),
        media: () => Promise.resolve(),
      },
      status,
    ),
    catalog: new NodeCatalog(),
    ranges: {},
    runs: new Runs(),
    seal,
    audit,
    refusals: new Refusals(
      (record) => store.audit(record),
      (error) => {
        throw error;
      },
    ),
  } as unknown as DispatchServices;
  const put: TestStore['put'] = async (...rows) => {
    await store.change(testOrigin, (head) => {
      const draft = new Draft(head, seal);
      for (const [table, columns] of rows) draft.merge(table, keyOf(tableNamed(table), columns as Row), columns);
      return draft.changes();
    });
  };
  await put(...governors);
  return {
    file,
    store,
    box,
    services,
    put,
    get current() {
      return store.current;
    },
    run: async (command, args, request) =>
      dispatch(services, { ...rootRequest, ...request, command: command as AnyCommand, args }),
    rows: (table) => store.current.rows(table).values(),
    async close() {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const never = new AbortController().signal;

const rootRequest: Omit<Request, 'command' | 'args'> = {
  words: [],
  line: '',
  range: '',
  user: 'root',
  scope: undefined,
  client: '127.0.0.1',
  token: undefined,
  login: rootHash,
  note: '',
  id: 'request',
  dryRun: false,
  expectNodes: undefined,
  revision: undefined,
  detached: false,
  began: () => undefined,
  signal: () => never,
};

/** What a query answered, as plain data. */
export function answerOf({ answer }: Outcome): unknown {
  if (answer.shape === 'stream' || answer.shape === 'work' || answer.shape === 'dry-run')
    throw new Error(`not an answer: ${answer.shape}`);
  return plain(answer);
}

function plain(answer: Answer): unknown {
  if (answer.shape === 'none') return undefined;
  if (answer.shape === 'list') return answer.items;
  if (answer.shape === 'value') return answer.value;
  if (answer.shape === 'items') return { ...answer.before, [answer.member]: [...answer.items], ...answer.after };
  if (answer.shape === 'rows') return Object.fromEntries(answer.tables.map(([table, rows]) => [table, [...rows]]));
  if (answer.shape === 'text') return answer.text;
  if (answer.shape === 'events' || answer.shape === 'console') throw new Error(`not an answer: ${answer.shape}`);
  return Object.fromEntries(answer.names.map((name) => [name, answer.attributes(name)]));
}

/** All results of a command that works node by node, in the order they came. */
export async function nodeResultsOf({ answer }: Outcome): Promise<NodeResult[]> {
  if (answer.shape !== 'stream') throw new Error(answer.shape);
  return (await Array.fromAsync(answer.results)).flat();
}
