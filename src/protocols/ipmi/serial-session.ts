import type { Fault } from '../../core/errors.ts';
import { completion } from './commands/ask.ts';
import { Exchange, type ExchangeOwner } from './exchange.ts';
import { consoleLost, missingPrivilege, silentInSession } from './faults.ts';
import { isSealed, payloads } from './header.ts';
import type { IpmiLink, IpmiRequest, IpmiResponse } from './link.ts';
import { Login, type LoginOwner } from './login.ts';
import { beginWait, type Peer } from './peer.ts';
import {
  levels,
  messageOffset,
  newSession,
  newWindow,
  openMessage,
  type Seal,
  sealMessage,
  sendClose,
  type Session,
  vectorLength,
} from './session.ts';
import { type Talker, type Wire, withWake } from './wire.ts';
import { Line } from './serial-line.ts';
import { readSerialPacket, type SerialPacket, writeSerialPacket } from './serial-packet.ts';

type Part = 'talk' | 'line' | 'check';
const never = Number.POSITIVE_INFINITY;

/** IPMI 2.0 22.18. */
const app = 0x06;
const setPrivilegeLevel = 0x3b;

/**
 * Requests without an answer, one after the other, after which the session is lost, and tries of each. Together with what the line sends
 * they are fewer than the packets that a BMC may miss before it takes no more: a short time without the network ends no console.
 */
const mostSilences = 2;
const triesOfRequest = 6;
const calmRetry = 1_000;
/** How long the line sends nothing again while it is asked whether the BMC is there, in milliseconds. */
const lineRest = 500;
/** Packets of characters that are looked at in a second: of a BMC that sends more, the rest counts as lost. */
const mostPackets = 4_000;

export interface SerialOwner {
  output(characters: Buffer): void;
  /** Asks the BMC for a sign of life, and whether the payload is still ours; a Fault if it is not. */
  check(): Promise<void>;
  /** It is over, and it was not `end` that was called. */
  lost(fault: Fault): void;
}

interface Job {
  readonly request: IpmiRequest;
  readonly resolve: (response: IpmiResponse) => void;
  readonly reject: (fault: Fault) => void;
}

/** A session with one BMC for its console alone: requests and characters. Once it is lost it is over. */
export class SerialSession implements IpmiLink, LoginOwner, ExchangeOwner, Talker {
  readonly line: Line;
  readonly #peer: Peer;
  readonly #wire: Wire;
  readonly #owner: SerialOwner;
  readonly #ended: () => void;
  readonly #queue: Job[] = [];
  #session: Session | undefined;
  #login: Login | undefined;
  #exchange: Exchange | undefined;
  #opening: { readonly resolve: () => void; readonly reject: (fault: Fault) => void } | undefined;
  /** When the parts want to be woken. */
  readonly #wakes = { talk: never, line: never, check: never };
  #isWatched = false;
  #isChecking = false;
  #silences = 0;
  #isOver = false;
  #packets = { second: 0, count: 0 };

  /** `ended` is called when it holds nothing any more. */
  constructor(peer: Peer, owner: SerialOwner, ended: () => void) {
    const { wire } = peer;
    this.#owner = owner;
    this.#ended = ended;
    this.#wire = wire;
    this.#peer = { ...peer, wire: withWake(wire, (at) => this.#wake('talk', at)) };
    const forLine = { ...peer, wire: withWake(wire, (at) => this.#wake('line', at)) };
    this.line = new Line(forLine, {
      send: (packet) => this.#sendCharacters(packet),
      output: (characters) => owner.output(characters),
      doubtful: () => this.#check(),
      deactivated: () => this.#lose(consoleLost('its BMC has ended it, or somebody else has taken it over')),
    });
  }

  /** Logs in. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#login = new Login(this.#peer, this, beginWait(this.#peer), this.#wire.now());
      this.#login.start();
    });
  }

  get id(): number {
    return this.#session?.seal.bmcId ?? 0;
  }

  /** Takes the highest privilege that the account has: BMCs want it for consoles. */
  async raise(): Promise<void> {
    const session = this.#session;
    for (let level = session?.limit ?? 0; session && level > session.level; level--) {
      const { code } = await this.request({ netfn: app, command: setPrivilegeLevel, data: Uint8Array.of(level) });
      if (code === completion.ok) session.level = level;
    }
  }

  /** From now on the BMC is asked for signs of life. */
  watch(): void {
    this.#isWatched = true;
    this.#wake('check', this.#wire.now() + this.#peer.timing.keepAlive);
  }

  request(request: IpmiRequest): Promise<IpmiResponse> {
    const { where, credentials } = this.#peer;
    const privilege = request.privilege ?? 'user';
    if (this.#isOver) return Promise.reject(consoleLost('its session is closed'));
    if (this.#session && levels[privilege] > this.#session.level) {
      return Promise.reject(missingPrivilege(where, credentials.userName, privilege));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, resolve, reject });
      if (!this.#exchange) this.#next();
    });
  }

  /** From now on one request without an answer is enough to give up. */
  hurry(): void {
    this.#silences = mostSilences;
  }

  /** Ends everything; nothing is waited for. */
  end(fault: Fault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#login?.leave();
    this.#login = undefined;
    this.#exchange = undefined;
    this.line.end(fault);
    this.#opening?.reject(fault);
    for (const { reject } of this.#queue.splice(0)) reject(fault);
    if (this.#session) {
      sendClose(this.#wire, this.#session);
      this.#wire.release(this.#session.seal.consoleId);
    }
    this.#wire.wake(never);
    this.#ended();
  }

  receive(packet: Buffer): void {
    if (this.#login) this.#login.receive(packet);
    else if (isSealed(packet, payloads.sealedSerial)) this.#receiveCharacters(packet);
    else this.#exchange?.receive(packet);
  }

  tick(now: number): void {
    if (this.#isDue('talk', now)) (this.#login ?? this.#exchange)?.tick(now);
    if (this.#isDue('line', now)) {
      if (this.#isChecking) this.#wake('line', now + lineRest);
      else this.line.tick(now);
    }
    // However much is printed: some BMCs count only commands as activity of a session.
    if (this.#isDue('check', now)) this.#check();
    if (!this.#isOver) this.#wakeNext();
  }

  unreachable(error: NodeJS.ErrnoException): void {
    this.#login?.unreachable(error);
  }

  get isAwaited(): boolean {
    return this.#opening !== undefined;
  }

  loggedIn(seal: Seal): void {
    this.#login = undefined;
    // After a time without the network a BMC may be any number of packets ahead.
    seal.window = newWindow(Number.POSITIVE_INFINITY);
    this.#session = newSession(seal, this.#peer.quirks.level, this.#wire.now());
    const opening = this.#opening;
    this.#opening = undefined;
    opening?.resolve();
  }

  loginFailed(fault: Fault): void {
    this.#login = undefined;
    this.end(fault);
  }

  answered(response: IpmiResponse): void {
    this.#exchange = undefined;
    this.#silences = 0;
    this.#queue.shift()?.resolve(response);
    this.#next();
  }

  unanswered(): void {
    const { where, timing } = this.#peer;
    this.#exchange = undefined;
    this.#silences++;
    if (this.#silences < mostSilences) this.#next();
    else this.#lose(silentInSession(where, this.#silences * timing.timeout));
  }

  #next(): void {
    const [job] = this.#queue;
    if (!job || !this.#session || this.#isOver) return;
    const request = this.#isWatched ? { ...job.request, retryAfter: calmRetry } : job.request;
    this.#exchange = new Exchange(this.#peer, this, this.#session, request, beginWait(this.#peer), triesOfRequest);
    this.#exchange.start();
  }

  #receiveCharacters(packet: Buffer): void {
    const session = this.#session;
    if (!session || !this.#isWithinBounds()) return;
    const number = packet.readUInt32LE(10);
    const payload = openMessage(session.seal, packet, payloads.sealedSerial);
    const characters = payload && readSerialPacket(payload);
    if (!characters) return;
    this.#silences = 0;
    this.line.receive(characters, number);
  }

  #isWithinBounds(): boolean {
    const second = Math.floor(this.#wire.now() / 1_000);
    if (this.#packets.second !== second) this.#packets = { second, count: 0 };
    return this.#packets.count++ < mostPackets;
  }

  #sendCharacters(packet: SerialPacket): void {
    const session = this.#session;
    if (!session || this.#isOver) return;
    const target = this.#wire.packet();
    this.#wire.fill(target, messageOffset - vectorLength, vectorLength);
    const end = writeSerialPacket(target, messageOffset, packet);
    this.#wire.send(target, sealMessage(session.seal, target, end, payloads.sealedSerial));
  }

  #check(): void {
    if (this.#isChecking || !this.#isWatched) return;
    this.#isChecking = true;
    void this.#checkNow();
  }

  async #checkNow(): Promise<void> {
    try {
      await this.#owner.check();
      this.#isChecking = false;
      if (!this.#isOver) this.#wake('check', this.#wire.now() + this.#peer.timing.keepAlive);
    } catch (fault) {
      this.#lose(fault as Fault);
    }
  }

  #lose(fault: Fault): void {
    if (this.#isOver) return;
    const isOpening = this.#opening !== undefined;
    this.end(fault);
    if (!isOpening) this.#owner.lost(fault);
  }

  #isDue(part: Part, now: number): boolean {
    if (this.#isOver || now < this.#wakes[part]) return false;
    this.#wakes[part] = never;
    return true;
  }

  #wake(part: Part, at: number): void {
    this.#wakes[part] = at;
    if (!this.#isOver) this.#wakeNext();
  }

  #wakeNext(): void {
    const { talk, line, check } = this.#wakes;
    this.#wire.wake(Math.min(talk, line, check));
  }
}
