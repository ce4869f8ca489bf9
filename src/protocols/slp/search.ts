import { isIPv6 } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { openPorts, type Outlet, type Port } from '../multicast/outlets.ts';
import { sleep } from '../sleep.ts';
import { type Agent, Asker, defaultTiming, Queues, Rounds, type Timing, Xids } from './asker.ts';
import {
  attributeRequest,
  decodeReply,
  directoryType,
  errors,
  group4,
  groups6,
  type Reply,
  serviceRequest,
  slpPort,
  statedXid,
} from './message.ts';
import { isUrl, parseAttributes, type SlpService, typeOfService } from './service.ts';

export interface SlpQuestion {
  readonly outlets: readonly Outlet[];
  /** Types of services, such as `service:printer:lpr`, or abstract ones, such as `service:printer`. */
  readonly types: readonly string[];
  /** Addresses of agents that are asked one by one. */
  readonly agents?: readonly string[];
  readonly milliseconds: number;
  readonly port?: number;
  readonly timing?: Timing;
}

/** Bounds on what anybody on the network can make us keep. */
const mostAgents = 8_192;
const mostServicesPerAgent = 512;
const mostServicesPerDirectory = 8_192;
const mostServices = 16_384;
const mostDirectories = 16;
const mostAttributeText = 32 * 1_048_576;
const hops = 8;

/** What is asked for by everybody, with those who have answered. */
interface Asked {
  readonly xid: number;
  readonly type: string;
  readonly answered: Set<string>;
}

type Heard = Omit<SlpService, 'fromDirectory'>;

/** All services of the types that agents report until nobody new answers or the time is over, with their attributes. */
export async function findServices(question: SlpQuestion, signal: AbortSignal): Promise<SlpService[]> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(question.milliseconds)]);
  const search = new Search(question, limit);
  const found = await search.run();
  if (signal.aborted) throw new Fault('unavailable', 'The search for services was ended.', { cause: signal.reason });
  return found;
}

class Search {
  readonly #question: SlpQuestion;
  readonly #port: number;
  readonly #timing: Timing;
  readonly #limit: AbortSignal;
  readonly #xids = new Xids();
  readonly #asker: Asker;
  readonly #asked: readonly Asked[];
  readonly #byXid: ReadonlyMap<number, Asked>;
  readonly #services = new Map<string, Heard>();
  readonly #serviceCounts = new Map<string, number>();
  readonly #directories = new Set<string>();
  /** Work on each agent, one thing after the other: an agent that is slow or lies in wait delays only itself. */
  readonly #work = new Queues();
  #attributeText = 0;
  #news = false;

  constructor(question: SlpQuestion, limit: AbortSignal) {
    this.#question = question;
    this.#port = question.port ?? slpPort;
    this.#timing = question.timing ?? defaultTiming;
    this.#limit = limit;
    this.#asker = new Asker({ port: this.#port, timing: this.#timing, xids: this.#xids, limit });
    this.#asked = [...question.types, directoryType].map((type) => ({
      xid: this.#xids.take()!,
      type,
      answered: new Set(),
    }));
    this.#byXid = new Map(this.#asked.map((one) => [one.xid, one]));
  }

  async run(): Promise<SlpService[]> {
    const { outlets, agents = [] } = this.#question;
    const ports = await openPorts({
      outlets,
      directed: [...new Set(agents.map(familyOf))],
      hops,
      heard: (packet, address, via) => this.#hear(packet, { address, via }),
    });
    try {
      const rounds = new Rounds(this.#timing);
      for (let gap = rounds.next(false); gap !== undefined && !this.#limit.aborted; gap = rounds.next(this.#news)) {
        this.#news = false;
        for (const port of ports) this.#askAll(port);
        await sleep(gap, this.#limit);
      }
      await this.#work.idle();
    } finally {
      for (const port of ports) port.close();
    }
    return [...this.#services.values()].map((service) => ({
      ...service,
      fromDirectory: this.#directories.has(service.address),
    }));
  }

  #askAll(port: Port): void {
    for (const one of this.#asked) {
      if (port.outlet === undefined) this.#askEach(one, port);
      else {
        const request = serviceRequest(one.xid, one.type, one.answered);
        for (const address of groupsOf(port.outlet, one.type)) port.send(request, address, this.#port);
      }
    }
  }

  #askEach({ xid, type, answered }: Asked, port: Port): void {
    const request = serviceRequest(xid, type, undefined);
    for (const agent of this.#question.agents ?? [])
      if (familyOf(agent) === port.family && !answered.has(agent)) port.send(request, agent, this.#port);
  }

  #hear(packet: Buffer, agent: Agent): void {
    const asked = this.#byXid.get(statedXid(packet) ?? 0);
    // Most of what a flood brings is not worth decoding.
    if (asked && (asked.answered.has(agent.address) || this.#services.size >= mostServices)) return;
    const reply = decodeReply(packet);
    if (reply === undefined || reply.error === errors.busy) return;
    if (asked === undefined) this.#asker.hear(reply, agent.address);
    else if (asked.type === directoryType) this.#hearDirectory(asked, reply, agent);
    else if (reply.kind === 'services') this.#hearServices(asked, reply, agent);
  }

  #hearServices({ xid, type, answered }: Asked, reply: Reply & { kind: 'services' }, agent: Agent): void {
    if (answered.size >= mostAgents) return;
    answered.add(agent.address);
    this.#news = true;
    if (reply.overflow) this.#later(agent, () => this.#askWhole(xid, type, reply.urls, agent));
    else this.#note(type, reply.urls, agent);
  }

  async #askWhole(xid: number, type: string, known: readonly string[], agent: Agent): Promise<void> {
    const whole = await this.#asker.whole(agent, serviceRequest(xid, type, undefined));
    this.#note(type, whole?.kind === 'services' && whole.error === 0 ? whole.urls : known, agent);
  }

  /** A directory knows the services of others. It is asked where it spoke from: its URL could send us anywhere. */
  #hearDirectory({ answered }: Asked, reply: Reply, agent: Agent): void {
    if (reply.kind !== 'agent' || reply.error !== 0) return;
    if (this.#directories.size >= mostDirectories) return;
    answered.add(agent.address);
    this.#directories.add(agent.address);
    this.#news = true;
    for (const type of this.#question.types) {
      this.#later(agent, async () => {
        const listed = await this.#asker.ask(agent, (xid) => serviceRequest(xid, type, undefined));
        if (listed?.kind === 'services') this.#note(type, listed.urls, agent);
      });
    }
  }

  #note(type: string, urls: readonly string[], agent: Agent): void {
    const { address } = agent;
    const most = this.#directories.has(address) ? mostServicesPerDirectory : mostServicesPerAgent;
    for (const url of urls) {
      const count = this.#serviceCounts.get(address) ?? 0;
      if (count >= most || this.#services.size >= mostServices) return;
      const key = `${address} ${url}`;
      if (!isUrl(url) || this.#services.has(key)) continue;
      this.#serviceCounts.set(address, count + 1);
      const service: Heard = { type: typeOfService(url, type), url, address, attributes: new Map() };
      this.#services.set(key, service);
      this.#later(agent, () => this.#describe(key, service, agent));
    }
  }

  async #describe(key: string, service: Heard, agent: Agent): Promise<void> {
    const reply = await this.#asker.ask(agent, (xid) => attributeRequest(xid, service.url));
    if (reply?.kind !== 'attributes') return;
    this.#attributeText += reply.text.length;
    if (this.#attributeText > mostAttributeText) return;
    this.#services.set(key, { ...service, attributes: parseAttributes(reply.text) });
  }

  #later({ address }: Agent, work: () => Promise<void>): void {
    this.#work.add(address, async () => {
      if (!this.#limit.aborted) await work();
    });
  }
}

const familyOf = (address: string): 4 | 6 => (isIPv6(address) ? 6 : 4);

function groupsOf({ family, interface: name, broadcast }: Outlet, type: string): string[] {
  if (family === 6) return groups6(type).map((group) => `${group}%${name}`);
  return broadcast === undefined ? [group4] : [group4, broadcast];
}
