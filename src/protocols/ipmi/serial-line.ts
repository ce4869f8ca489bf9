import { Fault } from '../../core/errors.ts';
import { type Peer, retryDelay } from './peer.ts';
import { mostCharacters, nextSerial, type SerialPacket, told, wanted } from './serial-packet.ts';

/** What a line wants from the session that it is in. */
export interface LineOwner {
  send(packet: SerialPacket): void;
  output(characters: Buffer): void;
  /** What was sent several times is not acknowledged: the session may be gone. */
  doubtful(): void;
  /** The BMC says that the payload is not ours any more. */
  deactivated(): void;
}

/** Something to be sent, in its order. */
interface Job {
  /** Characters that are still to be taken. */
  rest: Buffer;
  readonly bits: number;
  readonly resolve: () => void;
  readonly reject: (fault: Fault) => void;
}

/** The packet that is under way; there is never more than one. */
interface Flight {
  readonly packet: SerialPacket;
  readonly job: Job | undefined;
  attempt: number;
}

const empty = Buffer.alloc(0);
/** Characters that wait to be sent. */
const mostWaiting = 64 << 10;
/** Characters of one packet, however many the BMC says that it takes: what it says is often wrong. */
const mostPerPacket = 64;
const fewestPerPacket = 8;
/** BMCs tell how long a packet may be with the four bytes before the characters. */
const head = 4;
/** Some BMCs do not acknowledge a packet without characters. */
const triesOfGreeting = 3;
const triesUntilDoubt = 3;
const longestRetry = 2_000;
/** How long to wait for a BMC that takes no characters before the rest is sent all the same, in milliseconds. */
const hold = 500;
/** How long a BMC may take none before it is an error. */
const longestHold = 10_000;

/** What a BMC may send in a second, and at once; a serial line is a tenth as fast. What is more is not acknowledged, so it comes again. */
const flow = { perSecond: 256 << 10, burst: 1 << 20 };

/**
 * IPMI 2.0 15.11: characters in both directions, each exactly once and in order. A packet is acknowledged before the next is sent, and
 * sent again unchanged until then. Our first one has no characters: a BMC may take it for a repeated packet of an earlier console.
 */
export class Line {
  readonly #peer: Peer;
  readonly #owner: LineOwner;
  readonly #jobs: Job[] = [];
  #waiting = 0;
  #perPacket = fewestPerPacket;
  #flight: Flight | undefined;
  #sequence = 0;
  #retryAt = Number.POSITIVE_INFINITY;
  /** Until when nothing is sent, and since when the BMC takes nothing. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  #heldSince: number | undefined;
  /** The packet of the BMC that was taken last, how much of it, and its number in the session. */
  #taken = { sequence: 0, accepted: 0, number: 0 };
  #credit = flow.burst;
  #creditAt: number;

  constructor(peer: Peer, owner: LineOwner) {
    this.#peer = peer;
    this.#owner = owner;
    this.#creditAt = peer.wire.now();
  }

  /** The payload is active. `size`: how long a packet may be, as the BMC says. */
  start(size: number): void {
    this.#perPacket = Math.min(Math.max(size - head, fewestPerPacket), mostPerPacket);
    this.#launch(undefined, empty, 0);
  }

  write(characters: Uint8Array): Promise<void> {
    if (characters.length === 0) return Promise.resolve();
    if (this.#waiting + characters.length > mostWaiting) return Promise.reject(tooMuchTyped());
    return this.#queue(Buffer.from(characters), 0);
  }

  sendBreak(): Promise<void> {
    return this.#queue(empty, wanted.breakOnLine);
  }

  /** `number`: that of the packet in the session; the line is one packet after the other, so an older one has been overtaken. */
  receive(packet: SerialPacket, number: number): void {
    if (packet.bits & told.deactivated) return this.#owner.deactivated();
    const taken = this.#taken;
    if (taken.number !== 0 && ((number - taken.number) | 0) <= 0) return;
    if (packet.sequence !== 0 && !this.#takeCharacters(packet)) return;
    taken.number = number;
    this.#takeStatus(packet);
  }

  tick(now: number): void {
    if (!this.#flight) return this.#next();
    if (now < this.#retryAt) return this.#peer.wire.wake(this.#retryAt);
    const { attempt, job, packet } = this.#flight;
    if (!job && attempt >= triesOfGreeting) {
      this.#flight = undefined;
      return this.#next();
    }
    if (attempt >= triesUntilDoubt) this.#owner.doubtful();
    this.#flight.attempt++;
    this.#sendFlight(packet);
  }

  /** Nothing is sent any more; what waits fails. */
  end(fault: Fault): void {
    this.#flight = undefined;
    this.#failAll(fault);
  }

  #queue(rest: Buffer, bits: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ rest, bits, resolve, reject });
      this.#waiting += rest.length;
      if (!this.#flight) this.#next();
    });
  }

  #next(): void {
    const { wire } = this.#peer;
    const [job] = this.#jobs;
    if (!job || this.#sequence === 0) return;
    if (wire.now() < this.#heldUntil) return wire.wake(this.#heldUntil);
    this.#launch(job, job.rest.subarray(0, this.#perPacket), job.bits);
  }

  #launch(job: Job | undefined, characters: Buffer, bits: number): void {
    this.#sequence = nextSerial(this.#sequence);
    const packet = { sequence: this.#sequence, acknowledged: 0, accepted: 0, bits, characters };
    this.#flight = { packet, job, attempt: 1 };
    this.#sendFlight(packet);
  }

  #sendFlight(packet: SerialPacket): void {
    const { wire } = this.#peer;
    const wait = Math.min(longestRetry, retryDelay(this.#peer, this.#flight?.attempt ?? 1));
    this.#retryAt = wire.now() + wait;
    wire.wake(this.#retryAt);
    this.#owner.send(packet);
  }

  /** False if it is not to be answered now. */
  #takeCharacters({ sequence, characters }: SerialPacket): boolean {
    const taken = this.#taken;
    if (sequence !== taken.sequence) {
      const accepted = Math.min(characters.length, mostCharacters);
      if (!this.#pay(accepted)) return false;
      taken.sequence = sequence;
      taken.accepted = accepted;
      if (accepted > 0) this.#owner.output(characters.subarray(0, accepted));
    }
    // A repeated packet may have more characters behind those that were taken: they come again in the next one.
    this.#owner.send({ sequence: 0, acknowledged: sequence, accepted: taken.accepted, bits: 0, characters: empty });
    return true;
  }

  #takeStatus({ acknowledged, accepted, bits }: SerialPacket): void {
    const now = this.#peer.wire.now();
    const isHeld = (bits & (told.notTaken | told.unavailable)) !== 0;
    const flight = this.#flight;
    const isOurs = flight !== undefined && acknowledged !== 0 && acknowledged === flight.packet.sequence;
    this.#heldUntil = isHeld ? now + hold : Number.NEGATIVE_INFINITY;
    if (isOurs) {
      this.#flight = undefined;
      this.#settle(flight, accepted);
    }
    if (!this.#flight) this.#next();
  }

  #settle({ job, packet }: Flight, accepted: number): void {
    if (!job) return;
    const count = Math.min(accepted, packet.characters.length);
    job.rest = job.rest.subarray(count);
    this.#waiting -= count;
    if (job.rest.length === 0) {
      this.#heldSince = undefined;
      this.#jobs.shift();
      job.resolve();
    } else if (count > 0) this.#heldSince = undefined;
    else this.#notTaken();
  }

  #notTaken(): void {
    const now = this.#peer.wire.now();
    this.#heldSince ??= now;
    this.#heldUntil = now + hold;
    if (now - this.#heldSince < longestHold) return;
    this.#heldSince = undefined;
    this.#failAll(takesNothing());
  }

  #failAll(fault: Fault): void {
    this.#waiting = 0;
    for (const job of this.#jobs.splice(0)) job.reject(fault);
  }

  #pay(characters: number): boolean {
    const now = this.#peer.wire.now();
    this.#credit = Math.min(flow.burst, this.#credit + ((now - this.#creditAt) / 1_000) * flow.perSecond);
    this.#creditAt = now;
    if (this.#credit < characters) return false;
    this.#credit -= Math.max(characters, 1);
    return true;
  }
}

const tooMuchTyped = (): Fault =>
  new Fault(
    'unavailable',
    `more than ${mostWaiting / 1024} KiB wait to be typed at its console; wait until they have been taken.`,
  );

const takesNothing = (): Fault =>
  new Fault(
    'unavailable',
    'its BMC takes no characters for the console now, and what was typed is lost: the machine may be off, or holds its line.',
  );
