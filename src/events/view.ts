import type { TokenScope } from '../access/token-scope.ts';
import { parseExpiry } from '../access/tokens.ts';
import type { EventKind, HardwareNews, RunNews, RunOwner } from '../core/event-kinds.ts';
import type { JournalRow } from '../database/changeset.ts';
import type { ChangeSet } from '../database/database.ts';
import { redacted } from '../database/draft.ts';
import { secretColumnsOf } from '../database/secret-columns.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled, keyColumns, type Table, tableNamed } from '../database/tables.ts';
import { knownAccount } from '../objects/accounts.ts';
import { knownNodes, type RangeOptions } from '../objects/cluster.ts';
import { allMembers, seesOwners } from '../objects/groups.ts';
import { allowedOn, decide, policyOf } from '../objects/policy.ts';
import { gapData } from './entries.ts';

/** How a caller has shown who it is. */
export interface Shown {
  readonly user: string;
  /** The hash of its token, if it used one. */
  readonly token: string | undefined;
  /** What its password was checked with, if it sent one: see `KnownAccount`. */
  readonly login: string | undefined;
}

/** Whether that would still do. */
export function isStillKnown(snapshot: Snapshot, { user, token, login }: Shown): boolean {
  if (token !== undefined) {
    const row = snapshot.get('token', token);
    if (!row || !isEnabled(row) || row['username'] !== user || !(parseExpiry(row['expire'] ?? '') > Date.now()))
      return false;
  }
  const account = knownAccount(snapshot, user);
  return login === undefined ? token === undefined || account !== undefined : account?.login === login;
}

/** Who listens, and which events it wants. */
export interface EventFilter {
  readonly user: string;
  /** What the listener's token is limited to. */
  readonly scope?: TokenScope | undefined;
  readonly addresses: readonly string[];
  readonly command: string;
  /** The argument line that the policy is asked for. */
  readonly line: string;
  readonly kinds: readonly EventKind[];
  readonly range: string | undefined;
  readonly ranges: RangeOptions;
  /** It is muster's own and hears of everything. */
  readonly isOwn?: boolean;
}

/** Something that happened, before it is known who may hear of it. */
export type HubEvent = { readonly time: number | undefined } & (
  | { readonly what: 'set'; readonly set: ChangeSet }
  | { readonly what: 'power'; readonly nodes: readonly string[]; readonly power: string }
  | {
      readonly what: 'boot';
      readonly nodes: readonly string[];
      readonly step: string;
      readonly text: string | undefined;
    }
  | { readonly what: 'notice'; readonly nodes: readonly string[]; readonly message: string }
  | { readonly what: 'hardware'; readonly nodes: readonly string[]; readonly news: HardwareNews }
  | {
      readonly what: 'run';
      readonly news: RunNews;
      readonly targets: readonly string[] | undefined;
      readonly owner: RunOwner;
    }
  | { readonly what: 'gap'; readonly message: string }
);

/** One event as it is sent. */
export interface EventData {
  readonly kind: EventKind | 'gap';
  /** JSON text. */
  readonly data: string;
}

export type Test = (name: string) => boolean;

/** Credentials: they tell nothing of the cluster. */
const unsent = new Set(['token', 'boottoken', 'oidcgrant']);
/** What one event has at most. A change set with more is sent in several. */
const mostNames = 500;
/** Volatile columns of nodes that are sent as their status. */
const statusColumns = new Set(tableNamed('nodelist').volatile);

const always: Test = () => true;
const never: Test = () => false;

/** What one caller may hear of and has asked for: all that have the same hear the same bytes. */
export class View {
  readonly filter: EventFilter;
  /** Whether it hears everything that happens, so that no node has to be looked at. */
  readonly isWhole: boolean;
  readonly #seesAllRuns: boolean;
  #snapshot: Snapshot;
  #revision = -1;
  #chosen: ReadonlySet<string> | undefined;
  #isLimited = true;
  #isSeen: Test = never;
  /** As it was before the latest change: nodes that have been removed are seen by it. */
  #wasSeen: Test = never;

  constructor(filter: EventFilter, snapshot: Snapshot) {
    this.filter = filter;
    this.#snapshot = snapshot;
    this.#seesAllRuns = filter.isOwn === true || policyOf(snapshot, filter.scope).fullRights(filter.user);
    this.look(snapshot);
    this.#wasSeen = this.#isSeen;
    this.isWhole = View.isWhole(filter, snapshot);
  }

  static isWhole(filter: EventFilter, snapshot: Snapshot): boolean {
    return filter.range === undefined && hearsOfAll(filter, snapshot);
  }

  /** The same for callers that get the same. */
  static key(filter: EventFilter, snapshot: Snapshot): string {
    const { user, scope, addresses, line, kinds, range } = filter;
    const who = policyOf(snapshot, scope).fullRights(user) ? ['*'] : [user, scope?.id ?? '', ...addresses];
    return JSON.stringify([who, line, kinds, range]);
  }

  /** Rules may hold for some hours only: the next look is one at the rights of then. */
  renew(): void {
    this.#revision = -1;
  }

  /** Rights and groups as they are now. */
  look(snapshot: Snapshot): void {
    if (this.isWhole || (snapshot === this.#snapshot && this.#revision >= 0)) return;
    this.#snapshot = snapshot;
    const { user, scope, addresses, command, line, range, ranges } = this.filter;
    const question = { user, scope, addresses, command, line };
    this.#isLimited = !hearsOfAll(this.filter, snapshot);
    const mayHear = this.#isLimited ? allowedOn(snapshot, question) : always;
    if (range !== undefined && snapshot.revision !== this.#revision) {
      const before = this.#chosen;
      const now = knownOf(snapshot, range, { ...ranges, sees: this.#isLimited ? mayHear : undefined });
      // Whoever asked for some nodes hears of no others, also while nobody knows which these are.
      this.#chosen = now ?? before ?? new Set();
    }
    this.#revision = snapshot.revision;
    const chosen = this.#chosen;
    this.#wasSeen = this.#isSeen;
    const isSeen = this.#isLimited ? (name: string) => seesOwners(snapshot, name, mayHear) : always;
    this.#isSeen = chosen
      ? (name) => (chosen.has(name) || allMembers(snapshot, name).some((member) => chosen.has(member))) && isSeen(name)
      : isSeen;
  }

  /** Some rule lets it hear of some nodes, and none of all. */
  get isLimited(): boolean {
    return this.#isLimited && !this.isWhole;
  }

  /** What is sent of it; nothing if the caller may not hear it, or about a node that had the name of one of today. */
  render(event: HubEvent, wasOther: Test = never): EventData[] {
    const { kinds } = this.filter;
    switch (event.what) {
      case 'gap':
        return [{ kind: 'gap', data: gapData(event.message) }];
      case 'power':
        return kinds.includes('power') ? this.#ofNodes(event, { power: event.power }, wasOther) : [];
      case 'boot':
        return kinds.includes('boot') ? this.#ofNodes(event, stepOf(event), wasOther) : [];
      case 'notice':
        return kinds.includes('notice') ? this.#ofNodes(event, { message: event.message }, wasOther) : [];
      case 'hardware':
        return kinds.includes('hardware') ? this.#ofNodes(event, { ...event.news }, wasOther) : [];
      case 'run':
        return kinds.includes('run') && this.#hearsOf(event.owner, event.targets)
          ? [{ kind: 'run', data: JSON.stringify({ kind: 'run', ...timeOf(event.time), ...event.news }) }]
          : [];
      case 'set':
        return [
          ...(kinds.includes('status') ? this.#status(event.set, event.time, wasOther) : []),
          ...(kinds.includes('change') && event.set.journal ? this.#change(event.set, wasOther) : []),
        ];
    }
  }

  /** Of runs their users hear, and those who may do everything; a limited token hears of those that it began. */
  #hearsOf({ user, isOwned, by }: RunOwner, targets: readonly string[] | undefined): boolean {
    const { user: listener, scope } = this.filter;
    const isOwn = isOwned && user === listener && (scope === undefined || scope.id === by);
    if (!isOwn && !this.#seesAllRuns) return false;
    return this.#chosen === undefined || targets?.some((node) => this.#chosen!.has(node)) === true;
  }

  #ofNodes(
    { what: kind, nodes, time }: Extract<HubEvent, { what: 'power' | 'boot' | 'notice' | 'hardware' }>,
    said: Readonly<Record<string, string>>,
    wasOther: Test,
  ): EventData[] {
    // What is of no node is for those who may hear of all.
    if (nodes.length === 0)
      return this.isWhole ? [{ kind, data: JSON.stringify({ kind, ...timeOf(time), ...said, nodes }) }] : [];
    const seen = this.isWhole ? nodes : nodes.filter((node) => this.#isSeen(node) && !wasOther(node));
    return inParts(seen).map((part) => ({
      kind,
      data: JSON.stringify({ kind, ...timeOf(time), ...said, nodes: part }),
    }));
  }

  #status({ changes }: ChangeSet, time: number | undefined, wasOther: Test): EventData[] {
    const groups = new Map<string, { columns: Record<string, string | null>; nodes: string[] }>();
    for (const [node, , after] of changes['nodelist'] ?? []) {
      if (!after || !this.#sees(node) || wasOther(node)) continue;
      const columns: Record<string, string | null> = {};
      for (const column in after) if (statusColumns.has(column)) columns[column] = after[column]!;
      const key = JSON.stringify(columns);
      if (key === '{}') continue;
      const group = groups.get(key);
      if (group) group.nodes.push(node);
      else groups.set(key, { columns, nodes: [node] });
    }
    return [...groups.values()].flatMap(({ columns, nodes }) =>
      inParts(nodes).map(
        (part): EventData => ({
          kind: 'status',
          data: JSON.stringify({ kind: 'status', ...timeOf(time), ...columns, nodes: part }),
        }),
      ),
    );
  }

  #sees(name: string): boolean {
    return (
      this.isWhole || this.#isSeen(name) || (this.#snapshot.get('nodelist', name) === undefined && this.#wasSeen(name))
    );
  }

  /** Rows that become the same are sent together. */
  #change({ changes, journal }: ChangeSet, wasOther: Test): EventData[] {
    const parts: string[][] = [[]];
    let names = 0;
    for (const name in changes) {
      const table = tableNamed(name);
      if (unsent.has(name)) continue;
      for (const { same, keys } of this.#groups(table, changes[name]!, wasOther)) {
        for (const some of inParts(keys)) {
          if (names > 0 && names + some.length > mostNames) {
            parts.push([]);
            names = 0;
          }
          names += some.length;
          parts.at(-1)!.push(rowsText(table, some, same));
        }
      }
    }
    if (names === 0) return [];
    const { revision, time, user, client, command, run } = journal!;
    const head = JSON.stringify({ kind: 'change', revision, ...timeOf(time), user, client, command, run }).slice(0, -1);
    return parts.map((rows, i) => ({
      kind: 'change',
      data: `${head}${i < parts.length - 1 ? ',"more":true' : ''},"rows":[${rows.join(',')}]}`,
    }));
  }

  *#groups(table: Table, rows: readonly JournalRow[], wasOther: Test): Iterable<{ same: string; keys: string[] }> {
    const groups = new Map<string, string[]>();
    for (const [key, before, after] of rows) {
      if (!this.#seesRow(table, key, wasOther)) continue;
      const same = becomes(table, key, before === null, after);
      const keys = groups.get(same);
      if (keys) keys.push(key);
      else groups.set(same, [key]);
    }
    for (const [same, keys] of groups) yield { same, keys };
  }

  /** Rows that belong to no node are for those who may hear of every node, and asked for no range. */
  #seesRow(table: Table, key: string, wasOther: Test): boolean {
    if (this.isWhole) return true;
    if (table.nodeColumn === undefined && table.name !== 'nodegroup')
      return !this.#isLimited && this.#chosen === undefined;
    const owner = keyColumns(table, key)[table.keys[0]!] ?? '';
    return this.#sees(owner) && !wasOther(owner);
  }
}

/** A rule lets it hear of every node as a whole. */
const hearsOfAll = ({ user, scope, addresses, command, line, isOwn }: EventFilter, snapshot: Snapshot): boolean =>
  isOwn === true ||
  policyOf(snapshot, scope).alwaysAllows(user, command) ||
  decide(snapshot, { user, scope, addresses, command, line, nodes: undefined, every: true }).allowed;

/** Undefined if it can no longer be expanded, such as when a group is gone. */
function knownOf(snapshot: Snapshot, range: string, options: RangeOptions): ReadonlySet<string> | undefined {
  try {
    return new Set(knownNodes(snapshot, range, options));
  } catch {
    return undefined;
  }
}

const timeOf = (time: number | undefined): object => (time === undefined ? {} : { time: new Date(time).toISOString() });

/** What the columns become, as members of an object; secrets are not shown. */
function becomes(table: Table, key: string, isNew: boolean, after: JournalRow[2]): string {
  if (after === null) return '"removed":true';
  const set: Record<string, string | null> = {};
  const secret = secretColumnsOf(table, key);
  for (const column in after) {
    if (table.keys.includes(column)) continue;
    set[column] = after[column] && secret.has(column) ? redacted : after[column]!;
  }
  return `${isNew ? '"new":true,' : ''}"set":${JSON.stringify(set)}`;
}

function rowsText(table: Table, keys: readonly string[], same: string): string {
  const whose =
    table.nodeColumn !== undefined && table.keys.length === 1
      ? `"nodes":${JSON.stringify(keys)}`
      : `"keys":${JSON.stringify(keys.map((key) => shownKey(table, key)))}`;
  return `{"table":${JSON.stringify(table.name)},${whose},${same}}`;
}

function shownKey(table: Table, key: string): Record<string, string> {
  const columns = keyColumns(table, key);
  for (const column in columns) if (table.secret.has(column)) columns[column] = redacted;
  return columns;
}

const stepOf = ({
  step,
  text,
}: {
  readonly step: string;
  readonly text: string | undefined;
}): Record<string, string> => (text === undefined ? { step } : { step, text });

function inParts<T>(items: readonly T[]): (readonly T[])[] {
  if (items.length <= mostNames) return items.length === 0 ? [] : [items];
  const parts: T[][] = [];
  for (let from = 0; from < items.length; from += mostNames) parts.push(items.slice(from, from + mostNames));
  return parts;
}
