import type { Logger } from '../core/log.ts';

/** Milliseconds in which a claim that was withdrawn and made again is not reported again. */
const quietTime = 600_000;
/** Nodes that a line of the log names. */
const mostNames = 10;

interface ClaimServices {
  readonly events: { notice(nodes: readonly string[], message: string): void };
  readonly log: Logger;
}

/** A node whose machine these hypervisors claim to have, and are not believed. */
export interface DoubtfulNode {
  readonly name: string;
  /** Its vmhost. */
  readonly home: string | undefined;
  readonly doubtful: readonly string[];
}

interface Reported {
  readonly at: number;
  isClaimed: boolean;
}

/** Hypervisors that claim machines they are not believed to have: each is reported once for as long as it claims them. */
export class DoubtfulClaims {
  readonly #services: ClaimServices;
  /** By node, then by hypervisor: never more than there are nodes and hypervisors. */
  readonly #reported = new Map<string, Map<string, Reported>>();

  constructor(services: ClaimServices) {
    this.#services = services;
  }

  /** Nodes whose machines are claimed, or were a while ago. */
  get nodes(): readonly string[] {
    return [...this.#reported.keys()];
  }

  /** Notes what is claimed of these nodes now. Of a hypervisor that begins to claim many machines it is one sentence. */
  note(seen: readonly DoubtfulNode[], now = Date.now()): void {
    const fresh = seen.flatMap((node) => this.#fresh(node, now).map((host) => ({ host, ...node })));
    for (const [host, nodes] of Map.groupBy(fresh, (each) => each.host)) this.#report(host, nodes);
  }

  forget(node: string): void {
    this.#reported.delete(node);
  }

  #fresh({ name, doubtful }: DoubtfulNode, now: number): readonly string[] {
    const reported = this.#reported.get(name) ?? new Map<string, Reported>();
    const isQuiet = ({ at, isClaimed }: Reported): boolean => isClaimed || at + quietTime > now;
    for (const [host, known] of reported) if (!isQuiet(known)) reported.delete(host);
    const fresh = doubtful.filter((host) => !reported.has(host));
    for (const [host, known] of reported) known.isClaimed = doubtful.includes(host);
    for (const host of fresh) reported.set(host, { at: now, isClaimed: true });
    if (reported.size > 0) this.#reported.set(name, reported);
    else this.#reported.delete(name);
    return fresh;
  }

  #report(host: string, nodes: readonly DoubtfulNode[]): void {
    const { events, log } = this.#services;
    const names = nodes.map(({ name }) => name);
    const homes = new Set(nodes.map(({ home }) => home));
    const sentence = (whose: string): string =>
      `${host} has virtual machines with the names and UUIDs of ${whose}, whose vmhost is ${homes.size === 1 ? nodes[0]!.home : 'another one'}. ` +
      `Their vmhost and status were not changed. If they have moved, confirm it for each NODE with "chdef NODE vmhost=${host}", ` +
      `or name ${host} in its migrationdest.`;
    events.notice(names, sentence('these nodes'));
    const more = names.length > mostNames ? ` and ${names.length - mostNames} other nodes` : '';
    log.warn({ hypervisor: host, nodes: names.length }, sentence(names.slice(0, mostNames).join(', ') + more));
  }
}
