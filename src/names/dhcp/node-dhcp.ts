import { Type } from 'typebox';
import type { Origin } from '../../database/changeset.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { RefusedNodes } from '../../objects/select.ts';
import { type DaemonServers, type DaemonTopic, daemonTopic } from '../daemon-servers.ts';

/** What DHCP does for nodes that boot, whichever server has it. */
export interface NodeDhcp {
  /** Whether there are networks in which nodes can have reservations. */
  wasConfigured(): Promise<boolean>;
  /** Gives the nodes reservations, in place of those they had. */
  reserve(
    snapshot: Snapshot,
    nodes: readonly string[],
    origin: Origin,
  ): Promise<{ readonly messages: readonly string[]; readonly refused: RefusedNodes }>;
  release(nodes: readonly string[], origin: Origin): Promise<void>;
  /** When machines with these MAC addresses were given an IPv4 address; undefined: that is not known. */
  answered(macs: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly Date[]> | undefined>;
  /** Whether firmware or a boot loader was given the IPv4 address after a moment: its machine boots again. */
  gaveToFirmware(address: string, since: Date): Promise<boolean>;
}

const Texts = Type.Array(Type.String());
const origin = Type.Object({
  user: Type.String(),
  client: Type.String(),
  command: Type.String(),
  run: Type.String(),
});

/** What servers ask the one that has DHCP. */
const topics = {
  configured: daemonTopic('dhcp.configured', Type.Object({}), Type.Boolean()),
  reserve: daemonTopic(
    'dhcp.reserve',
    Type.Object({ nodes: Texts, origin }),
    Type.Object({ messages: Texts, refused: Type.Array(Type.Tuple([Type.String(), Texts])) }),
  ),
  release: daemonTopic('dhcp.release', Type.Object({ nodes: Texts, origin }), Type.Null()),
  answered: daemonTopic(
    'dhcp.answered',
    Type.Object({ macs: Texts }),
    Type.Union([Type.Null(), Type.Array(Type.Tuple([Type.String(), Type.Array(Type.Number())]))]),
  ),
  firmware: daemonTopic('dhcp.firmware', Type.Object({ address: Type.String(), since: Type.Number() }), Type.Boolean()),
} as const;

const look = 'GET /tables/dhcphost/rows lists the reservations.';

/** DHCP of another server. */
export class DhcpElsewhere implements NodeDhcp {
  readonly #daemons: DaemonServers;
  readonly #store: Store;
  /** What is being asked; users of a node can ask as often as they like. */
  readonly #firmware = new Map<string, Promise<boolean>>();

  constructor(daemons: DaemonServers, store: Store) {
    this.#daemons = daemons;
    this.#store = store;
  }

  wasConfigured(): Promise<boolean> {
    return this.#ask(topics.configured, {});
  }

  async reserve(snapshot: Snapshot, nodes: readonly string[], given: Origin) {
    const order = { nodes, origin: given };
    const asking = { revision: snapshot.revision, look, isPart: true };
    const found = await this.#daemons.ask('dhcp', topics.reserve, order, asking);
    const refused = new RefusedNodes();
    for (const [node, sentences] of found.refused) refused.refuse(node, sentences);
    return { messages: found.messages, refused };
  }

  async release(nodes: readonly string[], given: Origin): Promise<void> {
    await this.#ask(topics.release, { nodes, origin: given }, look);
  }

  async answered(macs: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly Date[]> | undefined> {
    const found = await this.#ask(topics.answered, { macs: [...macs] });
    return found ? new Map(found.map(([mac, times]) => [mac, times.map((time) => new Date(time))])) : undefined;
  }

  gaveToFirmware(address: string, since: Date): Promise<boolean> {
    const order = { address, since: since.getTime() };
    const key = JSON.stringify(order);
    let asked = this.#firmware.get(key);
    if (!asked) {
      asked = this.#ask(topics.firmware, order).finally(() => this.#firmware.delete(key));
      this.#firmware.set(key, asked);
    }
    return asked;
  }

  #ask<Answer>(topic: DaemonTopic<unknown, Answer>, order: unknown, how?: string): Promise<Answer> {
    const { revision } = this.#store.current;
    return this.#daemons.ask('dhcp', topic, order, { revision, look: how, isPart: true });
  }
}

/** Does for other servers what they ask of the DHCP of this one. */
export function answerForDhcp(dhcp: NodeDhcp, daemons: DaemonServers, store: Store): void {
  daemons.answer('dhcp', topics.configured, () => dhcp.wasConfigured());
  daemons.answer('dhcp', topics.reserve, async ({ nodes, origin: given }) => {
    const { messages, refused } = await dhcp.reserve(store.current, nodes, given);
    const wrong = nodes.filter((node) => refused.has(node));
    return { messages, refused: wrong.map((node) => [node, refused.sentencesOf(node)]) };
  });
  daemons.answer('dhcp', topics.release, ({ nodes, origin: given }) => dhcp.release(nodes, given));
  daemons.answer('dhcp', topics.answered, async ({ macs }) => {
    const found = await dhcp.answered(new Set(macs));
    return found && [...found].map(([mac, times]) => [mac, times.map((time) => time.getTime())]);
  });
  daemons.answer('dhcp', topics.firmware, ({ address, since }) => dhcp.gaveToFirmware(address, new Date(since)));
}
