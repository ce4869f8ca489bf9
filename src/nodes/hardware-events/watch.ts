import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import type { HardwareNews } from '../../core/event-kinds.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import type { Devices, DeviceTarget, EventReceiver, Hardware, ReportedEvent } from '../../drivers/index.ts';
import { knownNodes } from '../../objects/cluster.ts';
import { EventRate } from './event-rate.ts';
import { Follower, type Way } from './follower.ts';
import { PushListener, type TlsCredentials } from './push-listener.ts';
import type { HardwareEventSettings } from './settings.ts';
import { TrapListener } from './trap-listener.ts';

export interface HardwareEventServices {
  readonly store: Store;
  readonly hardware: Hardware;
  readonly devices: Devices;
  readonly box: SecretBox;
  readonly rangeFiles: string | undefined;
  readonly log: Logger;
  /** Passes on what BMCs of nodes report. */
  report(nodes: readonly string[], news: HardwareNews): void;
}

/** Milliseconds after a change of definitions until it is looked at. */
const lookDelay = 1_000;
/** Nodes that are looked at in one turn of the event loop. */
const nodesPerTurn = 100;
/** Asking BMCs more often makes them slow. */
const leastSeconds = 10;
/** Of a text that hardware sends. */
const longestMessage = 500;

/** A BMC, with the nodes behind it. */
interface Followed {
  readonly target: DeviceTarget;
  readonly nodes: readonly string[];
  readonly fingerprint: string;
}

interface Following extends Followed {
  readonly follower: Follower;
}

/** Follows the events of all BMCs of the nodes that a setting names, as one of the servers. */
export class HardwareEventWatch {
  readonly #settings: HardwareEventSettings;
  readonly #services: HardwareEventServices;
  readonly #following = new Map<string, Following>();
  readonly #listens: { close(): void }[] = [];
  #rate = new EventRate();
  #push: PushListener | undefined;
  #traps: TrapListener | undefined;
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #revision = -1;
  #isLooking = false;

  constructor(settings: HardwareEventSettings, services: HardwareEventServices) {
    this.#settings = settings;
    this.#services = services;
  }

  /** How many BMCs are followed which way. */
  get ways(): ReadonlyMap<Way, number> {
    const ways = new Map<Way, number>();
    for (const { follower } of this.#following.values()) ways.set(follower.way, (ways.get(follower.way) ?? 0) + 1);
    return ways;
  }

  /** Listens where BMCs send events to: every server of a site does, since the address may move between them. */
  async listen(credentials: TlsCredentials): Promise<void> {
    const { pushListen, pushUrl, trapListen, trapCommunity } = this.#settings;
    const { log } = this.#services;
    if (pushListen && pushUrl !== undefined) {
      this.#push = new PushListener(
        (device, events) => this.#reported(device, 'push', events),
        pushUrl,
        this.#services,
      );
      this.#listens.push(this.#push);
      await this.#push.listen(pushListen, credentials);
    }
    if (trapListen) {
      this.#traps = new TrapListener(trapCommunity, log, (device, event) => this.#reported(device, 'trap', [event]));
      this.#listens.push(this.#traps);
      await this.#traps.listen(trapListen);
    }
  }

  /** The certificate of this server was replaced. */
  show(credentials: TlsCredentials): void {
    this.#push?.show(credentials);
  }

  /** Begins to follow; returns what ends it. Subscriptions stay at the BMCs, for whoever follows next. */
  start(): () => void {
    const { store } = this.#services;
    this.#rate = new EventRate();
    this.#unsubscribe = store.subscribe(({ revision }) => {
      if (revision !== this.#revision) this.#lookSoon();
    });
    this.#lookSoon(0);
    return () => {
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      for (const { follower } of this.#following.values()) follower.end(false);
      this.#following.clear();
      this.#traps?.know([]);
    };
  }

  close(): void {
    for (const each of this.#listens.splice(0)) each.close();
  }

  #lookSoon(delay = lookDelay): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#isLooking) return this.#lookSoon();
      this.#isLooking = true;
      this.#look()
        .catch((error: unknown) => this.#services.log.error({ err: error }, 'the BMCs to follow could not be found'))
        .finally(() => (this.#isLooking = false));
    }, delay).unref();
  }

  async #look(): Promise<void> {
    const { current } = this.#services.store;
    this.#revision = current.revision;
    const wanted = await this.#wanted(current);
    if (!this.#unsubscribe) return;
    for (const [device, { follower, fingerprint }] of this.#following) {
      const now = wanted.get(device);
      if (now?.fingerprint === fingerprint) continue;
      follower.end(now === undefined);
      this.#following.delete(device);
      if (!now) this.#rate.forget(device);
    }
    for (const [device, followed] of wanted) {
      const known = this.#following.get(device);
      const follower = known?.follower ?? this.#follow(followed.target);
      this.#following.set(device, { ...followed, follower });
    }
    this.#push?.know([...wanted.keys()]);
    this.#traps?.know([...wanted].map(([device, { target }]) => [device, target.address]));
  }

  async #wanted(snapshot: Snapshot): Promise<ReadonlyMap<string, Followed>> {
    const { hardware, log } = this.#services;
    const devices = new Map<string, { target: DeviceTarget; nodes: string[] }>();
    const targetOf = hardware.targets(snapshot, 'events', 'eventLog');
    for (const [index, node] of this.#nodes(snapshot).entries()) {
      if (index % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
      try {
        const target = await targetOf(node);
        const known = devices.get(target.device);
        if (known) known.nodes.push(node);
        else devices.set(target.device, { target, nodes: [node] });
      } catch (error) {
        // A node without a BMC, or with one that has no events.
        if (!(error instanceof Fault)) throw error;
        log.debug({ node, err: error }, 'the events of a node are not followed');
      }
    }
    const found = new Map<string, Followed>();
    for (const [device, { target, nodes }] of devices) {
      if (found.size % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
      const fingerprint = createHash('sha256').update(JSON.stringify(target, withoutCertificate)).digest('base64');
      found.set(device, { target, nodes, fingerprint });
    }
    return found;
  }

  #nodes(snapshot: Snapshot): readonly string[] {
    const { hardware: range } = this.#settings;
    const { rangeFiles, log } = this.#services;
    if (range === undefined) return [];
    try {
      return knownNodes(snapshot, range, { rangeFiles });
    } catch (error) {
      log.warn({ err: error }, `The setting events.hardware, "${range}", names no nodes: no events are followed.`);
      return [];
    }
  }

  #follow(target: DeviceTarget): Follower {
    const { devices, log } = this.#services;
    const push = this.#push;
    return new Follower(target, {
      devices,
      log,
      interval: Math.max(leastSeconds, this.#settings.logSeconds) * 1_000,
      ...(push ? { receiverOf: (device: string): EventReceiver => push.receiverOf(device) } : {}),
      report: (source, events) => this.#reported(target.device, source, events),
    });
  }

  #reported(device: string, source: HardwareNews['source'], events: readonly ReportedEvent[]): void {
    const followed = this.#following.get(device);
    if (!followed) return;
    for (const { severity, message } of events) {
      const leftOut = this.#rate.pass(device);
      if (leftOut === undefined) continue;
      const before = leftOut === 0 ? '' : ` (${leftOut} events before this one were left out: the BMC sends too many.)`;
      this.#services.report(followed.nodes, { severity, message: `${plain(message)}${before}`, source });
    }
  }
}

/** That a certificate has become known makes no other BMC of it. */
const withoutCertificate = (name: string, value: unknown): unknown =>
  name === 'certificate' || name === 'nextCertificate' ? undefined : value;

/** One line, not too long, without what terminals obey. */
function plain(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  return line.length > longestMessage ? `${line.slice(0, longestMessage)} ...` : line;
}
