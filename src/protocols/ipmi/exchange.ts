import type { IpmiRequest, IpmiResponse } from './link.ts';
import { answerTime, endOfWait, noteRoundTrip, type Peer, retryDelay, type Wait } from './peer.ts';
import { hear, nextSequence, sendRequest, type Session } from './session.ts';

export interface ExchangeOwner {
  answered(response: IpmiResponse): void;
  /** `garbled`: there were answers, but none that could be understood. */
  unanswered(garbled: boolean): void;
}

/** IPMI 2.0 table 5-2: node busy, and timeout while processing. */
const transient: ReadonlySet<number> = new Set([0xc0, 0xc3]);
/** The same table: the destination is unavailable. */
const unavailable: IpmiResponse = { code: 0xd3, data: Buffer.alloc(0) };
/** Tries after which a controller behind the BMC is taken for absent. */
const bridgedTries = 2;

/** The part of the timeout after which a request is sent again, however long it would wait. */
const lastMoment = 0.8;

export class Exchange {
  readonly #peer: Peer;
  readonly #owner: ExchangeOwner;
  readonly #session: Session;
  readonly #request: IpmiRequest;
  readonly #wait: Wait;
  /** Unanswered tries after which there is no point in going on before the deadline. */
  readonly #tries: number;
  readonly #tellLoss: boolean;
  #sequence = 0;
  #attempt = 0;
  #begunAt = 0;
  #sentAt = 0;
  #retryAt = 0;
  /** The BMC was busy: the next try is a new request, not the same again. */
  #anew = false;
  #garbled = false;
  /** The BMC has passed the request on to another controller: silence is that one's. */
  #passedOn = false;

  /** `giveUpAfter`: tries after which silence means that the session is lost. */
  constructor(
    peer: Peer,
    owner: ExchangeOwner,
    session: Session,
    request: IpmiRequest,
    wait: Wait,
    giveUpAfter: number | undefined,
  ) {
    this.#peer = peer;
    this.#owner = owner;
    this.#session = session;
    this.#request = request;
    this.#wait = wait;
    this.#tellLoss = giveUpAfter !== undefined;
    this.#tries = request.repeatable === false ? 1 : Math.min(giveUpAfter ?? peer.timing.tries, peer.timing.tries);
  }

  start(): void {
    this.#sequence = nextSequence(this.#session);
    this.#begunAt = this.#peer.wire.now();
    this.#send();
  }

  receive(packet: Buffer): void {
    const heard = hear(this.#session, packet, this.#request, this.#sequence);
    if (heard === 'invalid') this.#garbled = true;
    if (heard === 'invalid' || heard === 'stale') return;
    const now = this.#peer.wire.now();
    this.#session.heardAt = now;
    if (heard === 'passed') this.#passedOn = true;
    if (heard === 'passed' || heard === 'other' || this.#anew) return;
    if (this.#attempt === 1) noteRoundTrip(this.#peer.quirks, now - this.#sentAt);
    const tries = { first: this.#begunAt, last: this.#sentAt, next: this.#retryAt };
    this.#peer.pace.note(answerTime(tries, now), now);
    if (transient.has(heard.code) && this.#mayTryAgain(now)) return;
    this.#owner.answered(heard);
  }

  tick(now: number): void {
    if (this.#passedOn && this.#attempt >= bridgedTries && now >= this.#retryAt) this.#owner.answered(unavailable);
    else if (now >= endOfWait(this.#peer, this.#wait)) this.#owner.unanswered(this.#garbled);
    else if (now < this.#retryAt) this.#wake();
    else if (this.#attempt < this.#tries || this.#anew) this.#again();
    else if (this.#tellLoss && this.#request.repeatable !== false) this.#owner.unanswered(this.#garbled);
    else {
      this.#retryAt = Number.POSITIVE_INFINITY;
      this.#wake();
    }
  }

  /** A try in the session gets a new packet number by itself, and keeps the request's number unless it is a new request. */
  #again(): void {
    if (this.#anew) this.#sequence = nextSequence(this.#session);
    this.#anew = false;
    this.#send();
  }

  #send(): void {
    const { wire, timing } = this.#peer;
    this.#attempt++;
    this.#sentAt = wire.now();
    const wanted = Math.min(this.#request.retryAfter ?? 0, lastMoment * timing.timeout);
    this.#retryAt = this.#sentAt + Math.max(wanted, retryDelay(this.#peer, this.#attempt));
    this.#wake();
    sendRequest(wire, this.#session, this.#request, this.#sequence);
  }

  #wake(): void {
    const { wire } = this.#peer;
    wire.wake(Math.min(this.#retryAt, endOfWait(this.#peer, this.#wait)));
  }

  #mayTryAgain(now: number): boolean {
    const { timing } = this.#peer;
    if (this.#request.repeatable === false || this.#attempt >= timing.tries) return false;
    const retryAt = now + retryDelay(this.#peer, this.#attempt);
    if (retryAt >= endOfWait(this.#peer, this.#wait)) return false;
    this.#anew = true;
    this.#retryAt = retryAt;
    this.#wake();
    return true;
  }
}
