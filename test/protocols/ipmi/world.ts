import type { Fault } from '../../../src/core/errors.ts';
import { Pace } from '../../../src/core/pace.ts';
import { Conversation } from '../../../src/protocols/ipmi/conversation.ts';
import {
  credentialsOf,
  type IpmiEndpoint,
  type IpmiRequest,
  type IpmiResponse,
} from '../../../src/protocols/ipmi/link.ts';
import { recipientOf } from '../../../src/protocols/ipmi/header.ts';
import { defaultTiming, type Peer, type Quirks, newQuirks, type Timing } from '../../../src/protocols/ipmi/peer.ts';
import type { Talker, Wire } from '../../../src/protocols/ipmi/wire.ts';
import { answerPacket, type LightBmc, makeLightBmc } from '../../lab/light-bmc/bmc.ts';

/** What became of a request. */
export type Outcome = { response: IpmiResponse } | { fault: Fault };

export const account = { address: '192.0.2.1', username: 'admin', password: 'secret' } as const;
export const chassisStatus: IpmiRequest = { netfn: 0x00, command: 0x01 };
export const powerOn: IpmiRequest = {
  netfn: 0x00,
  command: 0x02,
  data: Uint8Array.of(1),
  privilege: 'operator',
  repeatable: false,
};

/** After how many milliseconds each copy of a packet arrives; none if it is lost. */
export type Route = (packet: Buffer, count: number) => readonly number[];

export const kindOf = (packet: Buffer): string =>
  ({
    0x10: 'open',
    0x11: 'opened',
    0x12: 'rakp1',
    0x13: 'rakp2',
    0x14: 'rakp3',
    0x15: 'rakp4',
    0xc0: 'sealed',
    0xc1: 'serial',
  })[packet[5]!] ?? 'other';

/** A BMC, a network and a clock that stands still unless told otherwise. */
export class World {
  time = 0;
  /** How much of the time the process could not listen. */
  lag = 0;
  readonly bmc: LightBmc = makeLightBmc(0, account.address);
  /** Every packet to the BMC. */
  readonly sent: { at: number; kind: string; packet: Buffer }[] = [];
  readonly claimed = new Set<number>();
  readonly quirks: Quirks = newQuirks();
  readonly pace = new Pace();
  retired = 0;
  /** Ports that it was talked to from. */
  sources = 1;
  out: Route = () => [1];
  back: Route = () => [1];
  /** Stands between network and BMC. */
  answer: (packet: Buffer) => Buffer | undefined = (packet) => answerPacket(this.bmc, packet);
  noise = false;
  readonly peer: Peer;
  readonly conversation: Conversation;
  /** What hears of the world: the conversation, or what a test puts in its place. */
  talker: Talker;
  readonly #events: { at: number; run: () => void }[] = [];
  #wakeAt = Number.POSITIVE_INFINITY;
  #ids = 0x1000;
  #random = 0;
  #returned = 0;

  constructor(endpoint: Partial<IpmiEndpoint> = {}, timing: Partial<Timing> = {}) {
    const wire: Wire = {
      now: () => this.time,
      lag: () => this.lag,
      chance: () => 0.5,
      fill: (target, start, length) => {
        for (let index = start; index < start + length; index++) target[index] = this.#random++ * 7;
      },
      packet: () => Buffer.alloc(1024, 0xee),
      send: (packet, length) => this.#send(Buffer.from(packet.subarray(0, length))),
      claim: () => {
        this.claimed.add(++this.#ids);
        return this.#ids;
      },
      release: (id) => this.claimed.delete(id),
      takeOwnSource: async () => {
        this.sources++;
      },
      wake: (at) => {
        this.#wakeAt = at;
      },
      heardNoise: () => this.noise,
    };
    this.peer = {
      where: '192.0.2.1',
      credentials: credentialsOf({ ...account, ...endpoint }),
      timing: { ...defaultTiming, ...timing },
      quirks: this.quirks,
      pace: this.pace,
      wire,
    };
    this.talker = this.conversation = new Conversation(this.peer, () => this.retired++);
  }

  get kinds(): string[] {
    return this.sent.map(({ kind }) => kind);
  }

  request(request: IpmiRequest = chassisStatus, signal = new AbortController().signal): { outcome?: Outcome } {
    const result: { outcome?: Outcome } = {};
    this.conversation.request(request, signal).then(
      (response) => (result.outcome = { response }),
      (fault: Fault) => (result.outcome = { fault }),
    );
    return result;
  }

  /** Lets time pass, with everything that happens in it. */
  async run(milliseconds: number): Promise<void> {
    const until = this.time + milliseconds;
    for (;;) {
      this.#events.sort((a, b) => a.at - b.at);
      const event = this.#events[0]?.at ?? Number.POSITIVE_INFINITY;
      const at = Math.min(event, this.#wakeAt);
      if (at > until) break;
      this.time = Math.max(this.time, at);
      if (event <= this.#wakeAt) this.#events.shift()!.run();
      else {
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.talker.tick(this.time);
      }
      await settled();
    }
    this.time = until;
    await settled();
  }

  /** Delivers a packet as if the BMC had sent it. */
  deliver(packet: Buffer): void {
    const id = recipientOf(packet);
    if (id === 0 || this.claimed.has(id)) this.talker.receive(packet);
  }

  #send(packet: Buffer): void {
    this.sent.push({ at: this.time, kind: kindOf(packet), packet });
    for (const delay of this.out(packet, this.sent.length)) {
      this.#events.push({ at: this.time + delay, run: () => this.reply(this.answer(packet)) });
    }
  }

  /** Does something at that time, and then again and again. */
  every(milliseconds: number, run: () => void): void {
    const again = (): void => {
      run();
      this.#events.push({ at: this.time + milliseconds, run: again });
    };
    this.#events.push({ at: this.time + milliseconds, run: again });
  }

  /** A packet of the BMC goes its way. */
  reply(packet: Buffer | undefined): void {
    if (!packet) return;
    this.#returned++;
    for (const delay of this.back(packet, this.#returned)) {
      this.#events.push({ at: this.time + delay, run: () => this.deliver(packet) });
    }
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

export const faultOf = ({ outcome }: { outcome?: Outcome }): Fault => {
  if (!outcome || !('fault' in outcome)) throw new Error(`No fault but ${JSON.stringify(outcome)}`);
  return outcome.fault;
};

export const responseOf = ({ outcome }: { outcome?: Outcome }): IpmiResponse => {
  if (!outcome || !('response' in outcome)) throw new Error(`No response but ${JSON.stringify(outcome)}`);
  return outcome.response;
};
