import type { Ground } from '../access/ground.ts';
import { Fault } from '../core/errors.ts';
import { limiter } from '../core/limiter.ts';
import { inSlices } from '../core/slices.ts';
import type { Servers } from '../database/servers.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Workers } from '../bus/index.ts';
import type { Devices, Hardware, ServiceProcessorTrust } from '../drivers/index.ts';
import { type EventHub, isStillKnown } from '../events/index.ts';
import { decide, policyOf } from '../objects/policy.ts';
import { Carriers } from './carriers.ts';
import { ConsoleHub, mostReplayed, type ShownConsole } from './console-hub.ts';
import { keptNodes, tablesOfKept } from './kept.ts';
import { LogAllowances } from './log-allowance.ts';
import { ConsoleLogs } from './logs.ts';
import type { ConsoleSettings } from './settings.ts';
import { TroubleWatch } from './trouble.ts';
import type { Viewer, ViewerIdentity, ViewerSink } from './viewer.ts';

/** People who look at one console, and how often one account may. */
const mostViewers = 64;
const mostOfUser = 16;
/** Milliseconds after which definitions that have changed are looked at. */
const lookDelay = 500;
const statusDelay = 5_000;
/** Milliseconds between two looks at rights that end with the time. */
const rightsInterval = 15_000;
/** The tables that decide who may look on. */
const tablesOfRights = ['token', 'passwd', 'siteaccount', 'policy', 'nodelist', 'nodegroup'] as const;

export interface ConsoleParts extends Omit<Ground, 'box'> {
  readonly settings: ConsoleSettings;
  readonly hardware: Hardware;
  readonly devices: Devices;
  readonly certificates: Pick<ServiceProcessorTrust, 'learn' | 'hostKeys'>;
  /** Those that open consoles of their nodes, where there are some. */
  readonly workers: Workers | undefined;
  readonly events: Pick<EventHub, 'notice'>;
  readonly servers: Pick<Servers, 'name' | 'list' | 'id'>;
  readonly audit: boolean;
}

/** How a console is entered. */
export interface Entrance {
  readonly node: string;
  readonly identity: ViewerIdentity;
  /** From whoever has it outside of muster. */
  readonly takeOver: boolean;
}

/** The serial consoles of nodes: those that are kept open for their logs, and those that somebody looks at. One server of a database has them all. */
export class Consoles {
  readonly logs: ConsoleLogs;
  readonly #parts: ConsoleParts;
  readonly #hubs = new Map<string, ConsoleHub>();
  readonly #trouble: TroubleWatch;
  readonly #allowances = new LogAllowances();
  readonly #inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly #carriers: Carriers;
  readonly #closing = new Set<Promise<unknown>>();
  #kept: ReadonlySet<string> = new Set();
  #isHere = false;
  #isLooking = false;
  #lookTimer: NodeJS.Timeout | undefined;
  #lookAt = 0;
  #seen: readonly unknown[] = [];
  #rights: readonly unknown[] = [];
  #serviceNodes: unknown;

  constructor(parts: ConsoleParts) {
    const { data, settings, log, events } = parts;
    this.#parts = parts;
    this.logs = new ConsoleLogs(data, settings, log);
    this.#trouble = new TroubleWatch((node, sentence) => events.notice([node], sentence));
    this.#inTurn = limiter(settings.opening);
    const { workers, devices, certificates } = parts;
    const trust = {
      certificate: (node: string, fingerprint: string) => certificates.learn(node, fingerprint),
      hostKey: (node: string, key: string) => certificates.hostKeys.learn(node, key),
    };
    this.#carriers = new Carriers({ workers, devices, trust, log });
  }

  /** Takes the consoles of all nodes, until what is returned is called. */
  begin(): () => void {
    const { store } = this.#parts;
    this.#isHere = true;
    const unsubscribe = store.subscribe((current) => this.#follow(current));
    const timer = setInterval(() => {
      this.#checkRights(store.current, true);
      this.#checkCarriers(store.current);
    }, rightsInterval).unref();
    this.#follow(store.current);
    return () => {
      this.#isHere = false;
      unsubscribe();
      clearInterval(timer);
      clearTimeout(this.#lookTimer);
      this.#lookTimer = undefined;
      this.#seen = [];
      this.#kept = new Set();
      for (const node of this.#hubs.keys()) this.#close(node, 'This server gave its consoles up. Connect again.');
      this.#carriers.close();
    };
  }

  /** Refuses where the consoles are at another server. */
  async checkHere(): Promise<void> {
    if (this.#isHere) return;
    const { servers, store } = this.#parts;
    const holder = await store.database.shared.get('lease', 'consoles');
    const found = holder && (await servers.list()).find(({ id }) => id === holder.holder);
    const where = found
      ? `Server ${found.name} (${found.listens.join(', ')}) has the consoles: ask it.`
      : 'No server has the consoles at the moment. Try again.';
    throw new Fault('unavailable', where, { retryAfter: 5, nothingDone: true });
  }

  /** Checks all that can be checked before somebody enters a console; what is returned lets them in, and resolves when they have left. */
  async open({ node, identity, takeOver }: Entrance): Promise<(sink: ViewerSink) => Promise<void>> {
    await this.checkHere();
    const { store, settings } = this.#parts;
    const known = this.#hubs.get(node);
    if (!known) {
      await this.#target(store.current, node);
      if (this.#hubs.size >= settings.most)
        throw new Fault(
          'unavailable',
          `This server has ${this.#hubs.size} consoles open, which is the most (setting consoles.most). Close one first.`,
          { retryAfter: 60 },
        );
    }
    const crowd = crowdFault(known?.viewers ?? new Set(), identity.user);
    if (crowd) throw crowd;
    const before = known?.hasOutput ? undefined : await this.logs.tail(node, mostReplayed / 2);
    return async (sink) => {
      if (!this.#isHere) return sink.end('The server has given up its consoles. Connect again.');
      const hub = this.#hubs.get(node) ?? this.#add(node, false, takeOver);
      // Others may have come while its log was read.
      const late = crowdFault(hub.viewers, identity.user);
      if (late) return sink.end(late.message);
      if (before) hub.remember(before);
      await hub.enter(identity, sink, takeOver);
    };
  }

  /** Those that are open. */
  *all(): Generator<ShownConsole> {
    for (const hub of this.#hubs.values()) yield hub.shown();
  }

  of(node: string): ShownConsole | undefined {
    return this.#hubs.get(node)?.shown();
  }

  /** Why the console of a node cannot be opened, as far as that is known before anybody tries; empty if nothing is. */
  async obstacle(snapshot: Snapshot, node: string): Promise<string> {
    try {
      await this.#target(snapshot, node);
      return '';
    } catch (error) {
      if (error instanceof Fault) return error.sentences.join(' ');
      throw error;
    }
  }

  /** How many there are, for whoever counts. */
  counts(): { open: number; connected: number; viewers: number } {
    const counts = { open: this.#hubs.size, connected: 0, viewers: 0 };
    for (const hub of this.#hubs.values()) {
      counts.viewers += hub.viewers.size;
      if (hub.state === 'connected') counts.connected++;
    }
    return counts;
  }

  /** Viewers hear that the server stops, consoles are closed, and what they printed is written. */
  async close(): Promise<void> {
    this.#isHere = false;
    for (const node of this.#hubs.keys()) this.#close(node, 'muster is shutting down. Connect again.');
    await Promise.all(this.#closing);
    this.#carriers.close();
    await this.logs.close();
  }

  #follow(current: Snapshot): void {
    this.#trouble.follow(current);
    this.#checkRights(current, false);
    const serviceNodes = current.rows('noderes');
    if (serviceNodes !== this.#serviceNodes) this.#checkCarriers(current);
    this.#serviceNodes = serviceNodes;
    const seen = tablesOfKept.map((table) => current.rows(table));
    const changed = tablesOfKept.filter((_table, i) => seen[i] !== this.#seen[i]);
    if (changed.length === 0) return;
    // The status of nodes is in one of these tables, and changes all the time.
    const isStatus = this.#seen.length > 0 && changed.every((table) => table === 'nodelist');
    this.#seen = seen;
    this.#lookIn(isStatus ? statusDelay : lookDelay);
  }

  #lookIn(delay: number): void {
    const at = Date.now() + delay;
    if (this.#lookTimer && this.#lookAt <= at) return;
    clearTimeout(this.#lookTimer);
    this.#lookAt = at;
    this.#lookTimer = setTimeout(() => void this.#look(), delay).unref();
  }

  /** Opens the consoles of nodes that are kept from now on, and closes what nobody needs any more. */
  async #look(): Promise<void> {
    this.#lookTimer = undefined;
    if (this.#isLooking) return this.#lookIn(lookDelay);
    this.#isLooking = true;
    const { store, log } = this.#parts;
    try {
      const { current } = store;
      const kept = await inSlices(keptNodes(current));
      if (!this.#isHere) return;
      this.#kept = kept;
      for (const [node, hub] of this.#hubs) {
        hub.isKept = kept.has(node);
        if (!current.get('nodelist', node)) this.#close(node, 'The node was removed.');
        else if (!hub.isKept && hub.viewers.size === 0) this.#close(node, '');
      }
      for (const node of kept)
        if (!this.#hubs.has(node) && this.#hubs.size < this.#parts.settings.most) this.#add(node, true, false);
    } catch (error) {
      log.error({ err: error }, 'the consoles to keep could not be found');
    } finally {
      this.#isLooking = false;
    }
  }

  #add(node: string, isKept: boolean, takeOver: boolean): ConsoleHub {
    const { log, store } = this.#parts;
    const hub = new ConsoleHub(
      {
        node,
        logs: this.logs,
        trouble: this.#trouble,
        allowance: this.#allowances.forConsole(),
        find: async () => {
          const { current } = store;
          return this.#carriers.console(current, node, await this.#target(current, node));
        },
        inTurn: this.#inTurn,
        audit: (viewer, what) => this.#audit(node, viewer, what),
        mayTakeOver: ({ identity }) => mayUseConsole(store.current, { ...identity, line: '-f' }, node),
        unforeseen: (error) => log.error({ err: error, node }, 'a console failed unexpectedly'),
        deserted: () => {
          if (!hub.isKept && this.#hubs.get(node) === hub) this.#close(node, '');
        },
      },
      isKept || this.#kept.has(node),
      takeOver,
    );
    this.#hubs.set(node, hub);
    return hub;
  }

  #close(node: string, reason: string): void {
    const hub = this.#hubs.get(node)!;
    this.#hubs.delete(node);
    this.#carriers.forget(node);
    const closing = hub.close(reason).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #target(snapshot: Snapshot, node: string) {
    return this.#parts.hardware.targets(snapshot, 'rcons', 'console')(node);
  }

  /** Whoever may no longer look on, or type, is sent away at once. */
  #checkRights(current: Snapshot, isTime: boolean): void {
    const rights = tablesOfRights.map((table) => current.rows(table));
    if (!isTime && rights.every((rows, i) => rows === this.#rights[i])) return;
    this.#rights = rights;
    for (const [node, { viewers }] of this.#hubs)
      for (const viewer of viewers) {
        const { identity } = viewer;
        if (!isStillKnown(current, identity)) viewer.end('Your credentials have ended. Log in again.');
        else if (!mayUseConsole(current, identity, node))
          viewer.end('The policy does not allow you this any more. Connect again for what it allows.');
      }
  }

  /** A worker that is not a node's any more, or that is there again, changes who opens its console. */
  #checkCarriers(current: Snapshot): void {
    for (const node of this.#carriers.misplaced(current)) this.#hubs.get(node)?.move();
  }

  #audit(node: string, { identity, number }: Viewer, what: string): void {
    const { audit, store, log } = this.#parts;
    if (!audit) return;
    const { user, client, request } = identity;
    const args = `viewer ${number} ${what}`;
    const record = {
      time: Date.now(),
      user,
      client,
      command: 'rcons',
      noderange: node,
      args,
      status: 'Allowed',
      request,
    };
    try {
      store.auditSoon(record);
    } catch (error) {
      log.error({ err: error }, 'the audit log has no room for who uses a console');
    }
  }
}

type Asking = Pick<ViewerIdentity, 'user' | 'scope' | 'addresses' | 'line'>;

/** Whether somebody may use the console of a node so. */
export function mayUseConsole(snapshot: Snapshot, { user, scope, addresses, line }: Asking, node: string): boolean {
  if (!snapshot.get('nodelist', node)) return false;
  if (policyOf(snapshot, scope).alwaysAllows(user, 'rcons')) return true;
  return decide(snapshot, { user, scope, addresses, command: 'rcons', line, nodes: [node] }).allowed;
}

/** Each of them hears of all others: many would cost everybody else. */
function crowdFault(viewers: ReadonlySet<Viewer>, user: string): Fault | undefined {
  const own = [...viewers].filter(({ identity }) => identity.user === user).length;
  if (viewers.size < mostViewers && own < mostOfUser) return undefined;
  const who = own < mostOfUser ? `${viewers.size} people look` : `${user} looks`;
  const often = own < mostOfUser ? '' : ` ${own} times`;
  return new Fault('unavailable', `${who} at this console${often} already, which is the most. Close one first.`, {
    retryAfter: 60,
  });
}
