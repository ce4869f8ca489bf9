import type { CommandReply } from './commands.ts';
import { seal, type Session } from './session.ts';
import { payloadTypes } from './packets.ts';

/** How a serial port behaves besides what it has to. */
export interface SerialFaults {
  /** What Activate Payload answers instead. */
  code?: number;
  /** Characters of a packet that are taken; the rest is not. */
  takes?: number;
  /** No characters are taken, and it says so, until this is false again. */
  isHeld?: boolean;
  /** Packets without characters are not acknowledged. */
  ignoresEmpty?: boolean;
  /** A repeated packet has what the machine has printed since behind what it had. */
  growsRepeats?: boolean;
  /** It does not say whose session has the console. */
  isSilentAboutOwner?: boolean;
}

const notTaken = 0x40;
const deactivated = 0x10;
const generateBreak = 0x10;
const mostCharacters = 200;
const retryAfter = 500;
const mostRetries = 60;

interface Flight {
  readonly sequence: number;
  characters: Uint8Array;
  sentAt: number;
  tries: number;
}

/**
 * Serial over LAN of one BMC (IPMI 2.0 section 15): what the machine prints goes out packet by packet, each until it is acknowledged, and
 * what is typed is taken once.
 */
export class LightSerial {
  /** What the machine was given, breaks as `<break>`. */
  typed = '';
  owner: Session | undefined;
  readonly faults: SerialFaults = {};
  #printed: Uint8Array[] = [];
  #flight: Flight | undefined;
  #sequence = 7;
  /** Kept from one console to the next, as some BMCs do: the packet taken last, and how much of it. */
  #taken = { sequence: 1, count: 0 };
  #latest = 0;
  readonly #send: (packet: Buffer) => void;
  readonly #now: () => number;
  readonly #hears: (typed: string) => void;

  constructor(send: (packet: Buffer) => void, now: () => number, hears: (typed: string) => void = () => {}) {
    this.#send = send;
    this.#now = now;
    this.#hears = hears;
  }

  /** The commands of section 24, and who a session belongs to. */
  command(session: Session, number: number, data: Buffer): CommandReply | undefined {
    const ok = (...bytes: number[]): CommandReply => ({ code: 0, data: bytes });
    if (number === 0x48) {
      const code = this.faults.code ?? (this.owner && this.owner !== session ? 0x80 : 0);
      if (code !== 0) return { code, data: [] };
      if (this.owner !== session) this.#latest = 0;
      this.owner = session;
      return ok(0, 0, 0, 0, 36, 0, 204, 0, 0x6f, 0x02, 0xff, 0xff);
    }
    if (number === 0x49) {
      if (!this.owner) return { code: 0x80, data: [] };
      this.end();
      return ok();
    }
    if (number === 0x4b) {
      if (this.faults.isSilentAboutOwner) return { code: 0xc1, data: [] };
      const id = Buffer.alloc(4);
      id.writeUInt32LE(this.owner?.id ?? 0);
      return ok(...id, 1, 0, 0, 0, 0, 0, 0, 0);
    }
    if (number !== 0x3d || data[0] !== 0xff) return undefined;
    return data.readUInt32LE(1) === this.owner?.id ? ok(1, 8, 2, 2, 4, 0x11, 192, 0, 2, 77) : ok(0, 8, 2);
  }

  /** `tells`: whoever has it is told, which not all BMCs do. */
  end(tells = false): void {
    if (tells) this.#answer(0, 0, 0, deactivated);
    this.owner = undefined;
    this.#flight = undefined;
    this.#printed = [];
  }

  /** The machine prints something; it is lost if nobody has the console. */
  print(text: string): void {
    if (!this.owner) return;
    this.#printed.push(Buffer.from(text, 'latin1'));
    this.tick();
  }

  /** The same bytes again and again, whether they are acknowledged or not. */
  flood(packets: number, characters = 200): void {
    for (let count = 0; count < packets; count++) {
      this.#sequence = (this.#sequence % 15) + 1;
      this.#answer(this.#sequence, 0, 0, 0, Buffer.alloc(characters, 'x'));
    }
  }

  tick(): void {
    const now = this.#now();
    const flight = this.#flight;
    if (flight && now - flight.sentAt < retryAfter) return;
    if (flight && flight.tries < mostRetries) {
      if (this.faults.growsRepeats) flight.characters = Buffer.concat([flight.characters, ...this.#printed.splice(0)]);
      flight.tries++;
      flight.sentAt = now;
      this.#answer(flight.sequence, 0, 0, 0, flight.characters);
      return;
    }
    const all = Buffer.concat(this.#printed.splice(0));
    this.#flight = undefined;
    if (all.length === 0 || !this.owner) return;
    if (all.length > mostCharacters) this.#printed.push(all.subarray(mostCharacters));
    this.#sequence = (this.#sequence % 15) + 1;
    const characters = all.subarray(0, mostCharacters);
    this.#flight = { sequence: this.#sequence, characters, sentAt: now, tries: 1 };
    this.#answer(this.#sequence, 0, 0, 0, characters);
  }

  /** `number`: that of the packet in its session. One that was overtaken is of no use any more. */
  receive(session: Session, payload: Buffer, number: number): void {
    if (session !== this.owner || payload.length < 4 || number < this.#latest) return;
    this.#latest = number;
    const [sequence, acknowledged, count, bits] = [payload[0]! & 15, payload[1]! & 15, payload[2]!, payload[3]!];
    if (sequence !== 0) this.#take(sequence, payload.subarray(4), bits);
    const flight = this.#flight;
    if (!flight || acknowledged !== flight.sequence) return;
    this.#flight = undefined;
    if (count < flight.characters.length) this.#printed.unshift(flight.characters.subarray(count));
    this.tick();
  }

  /** It takes characters again, and says so. */
  release(): void {
    this.faults.isHeld = false;
    this.#answer(0, this.#taken.sequence, this.#taken.count, 0);
  }

  #take(sequence: number, characters: Buffer, bits: number): void {
    if (characters.length === 0 && bits === 0 && this.faults.ignoresEmpty) return;
    if (sequence !== this.#taken.sequence) {
      const { takes = characters.length, isHeld } = this.faults;
      const count = isHeld ? 0 : Math.min(takes, characters.length);
      this.#taken = { sequence, count };
      const heard = (bits & generateBreak ? '<break>' : '') + characters.toString('latin1', 0, count);
      this.typed += heard;
      if (heard !== '') this.#hears(heard);
    }
    this.#answer(0, sequence, this.#taken.count, this.faults.isHeld ? notTaken : 0);
  }

  #answer(
    sequence: number,
    acknowledged: number,
    count: number,
    bits: number,
    characters: Uint8Array = Buffer.alloc(0),
  ): void {
    if (!this.owner) return;
    const payload = Buffer.concat([Buffer.of(sequence, acknowledged, count, bits), characters]);
    this.#send(seal(this.owner, payload, payloadTypes.serial));
  }
}
