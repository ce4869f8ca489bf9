import type { Fault } from '../../core/errors.ts';
import { garbledAnswer, refusedLogin, refusedSuites, silent, unreachable, wrongKg, wrongPassword } from './faults.ts';
import {
  advance,
  type Handshake,
  newHandshake,
  sealOf,
  type Verdict,
  writeFarewell,
  writeOffer,
  writeRakp,
} from './handshake.ts';
import {
  answerTime,
  beginNextWait,
  endOfWait,
  learnSuite,
  noteRoundTrip,
  type Peer,
  rememberedSuite,
  retryDelay,
  type Wait,
} from './peer.ts';
import { forgotSession, isCrowded, parts, refusesLevel, refusesSuite, statuses } from './setup-packets.ts';
import { newSession, type Seal, sendClose } from './session.ts';
import { type SuiteId, suites } from './link.ts';

export interface LoginOwner {
  /** Whether anybody still waits for the session. */
  readonly isAwaited: boolean;
  loggedIn(seal: Seal): void;
  /** `hold`: for how many milliseconds it makes no sense to try again. */
  loginFailed(fault: Fault, hold: number): void;
}

/** A BMC that lost our half-open session gets this many new ones. */
const mostRestarts = 3;
/** RAKP packets sent in vain before the session is taken for lost. */
const rakpTries = 4;
/** Packets sent in vain before another port of ours is tried. */
const triesFromOneSource = 3;
const lowestLevel = 2;

/** Opens one session: tries the suites in turn, lowers the privilege if it must, sends again what gets no answer. */
export class Login {
  readonly #peer: Peer;
  readonly #owner: LoginOwner;
  readonly #startedAt: number;
  /** When the request came that it was begun for. */
  readonly #askedAt: number;
  #wait: Wait;
  /** The suites still to try, the present one first. */
  #suites: SuiteId[];
  /** The suite that comes first because it is remembered. */
  readonly #remembered: SuiteId | undefined;
  #handshake: Handshake;
  #attempt = 0;
  /** When the present packet was first sent, and when last. */
  #sentAt = 0;
  #repeatedAt = 0;
  #retryAt = 0;
  #restarts = 0;
  /** Whether RAKP 1 was sent more than once. */
  #repeated = false;
  #garbled = false;
  /** A refusal of the open request can be forged or damaged: it counts when it comes again. */
  #doubted = false;
  #movedSource = false;
  #ended = false;

  constructor(peer: Peer, owner: LoginOwner, wait: Wait, askedAt: number) {
    const { credentials, quirks, wire } = peer;
    this.#peer = peer;
    this.#owner = owner;
    this.#startedAt = wire.now();
    this.#askedAt = askedAt;
    this.#wait = wait;
    this.#remembered = rememberedSuite(credentials.suites, quirks, this.#startedAt);
    this.#suites = this.#suitesToTry();
    this.#handshake = this.#newHandshake();
  }

  start(): void {
    if (this.#peer.quirks.ownSource) this.#moveSource();
    else this.#send();
  }

  receive(packet: Buffer): void {
    const verdict = advance(this.#handshake, packet);
    switch (verdict.kind) {
      case 'ignored':
        return;
      case 'garbled':
        this.#garbled = true;
        return;
      case 'next':
        this.#proceed();
        return;
      case 'ready':
        this.#release(verdict.seal.consoleId);
        this.#learnSuite();
        this.#peer.quirks.wasIn = true;
        this.#peer.quirks.ownSource = this.#movedSource;
        this.#owner.loggedIn(verdict.seal);
        return;
      case 'refused':
        this.#refused(verdict);
        return;
      case 'unproven':
        this.#unproven(verdict.by);
        return;
    }
  }

  tick(now: number): void {
    const { where, wire } = this.#peer;
    if (now >= endOfWait(this.#peer, this.#wait)) {
      const strange = this.#garbled || wire.heardNoise(this.#startedAt);
      this.#sayGoodbye();
      this.#fail(strange ? garbledAnswer(where) : silent(where, now - this.#askedAt), 0);
    } else if (now >= this.#retryAt) {
      this.#retry();
    } else {
      this.#wake();
    }
  }

  unreachable(error: NodeJS.ErrnoException): void {
    this.#fail(unreachable(this.#peer.where, error), 0);
  }

  /** Somebody waits for it again. */
  join(wait: Wait): void {
    this.#wait = wait;
  }

  /** Ends at once; nothing is waited for. */
  leave(): void {
    this.#ended = true;
    this.#sayGoodbye();
    this.#release(undefined);
  }

  /** A BMC that has let us in and says nothing usable any more may take us for somebody else. */
  #moveSource(): void {
    this.#movedSource = true;
    this.#sayGoodbye();
    this.#release(undefined);
    this.#handshake = this.#newHandshake();
    this.#attempt = 0;
    this.#retryAt = Number.POSITIVE_INFINITY;
    this.#wake();
    const goOn = (): void => {
      if (!this.#ended) this.#send();
    };
    // Without a socket of its own it goes on from the one it has.
    this.#peer.wire.takeOwnSource().then(goOn, goOn);
  }

  #suitesToTry(): SuiteId[] {
    const others = this.#peer.credentials.suites.filter((id) => id !== this.#remembered);
    return this.#remembered === undefined ? others : [this.#remembered, ...others];
  }

  #learnSuite(): void {
    const { credentials, quirks, timing, wire } = this.#peer;
    const { suite, transcript } = this.#handshake;
    const until = wire.now() + timing.suiteMemory;
    learnSuite(credentials.suites, quirks, suite.id, this.#remembered, parts.guid(transcript), until);
  }

  /** What the BMC may have opened for us is closed, as far as that goes without an answer: half-open sessions count too. */
  #sayGoodbye(): void {
    const { wire, quirks } = this.#peer;
    const { phase } = this.#handshake;
    if (phase === 'open') return;
    const seal = phase === 'rakp3' ? sealOf(this.#handshake) : undefined;
    if (seal) sendClose(wire, newSession(seal, quirks.level, wire.now()));
    const packet = wire.packet();
    wire.send(packet, writeFarewell(this.#handshake, packet));
  }

  #newHandshake(): Handshake {
    const { credentials, quirks, wire } = this.#peer;
    const suite = suites[this.#suites[0] ?? 17];
    return newHandshake(credentials, suite, quirks.level, (target) => wire.fill(target, 0, target.length));
  }

  #send(): void {
    const { wire } = this.#peer;
    const now = wire.now();
    const packet = wire.packet();
    this.#attempt++;
    if (this.#handshake.phase === 'rakp1') this.#repeated = this.#attempt > 1;
    const length =
      this.#handshake.phase === 'open'
        ? writeOffer(this.#handshake, packet, wire.claim(), now)
        : writeRakp(this.#handshake, packet);
    if (this.#attempt === 1) this.#sentAt = now;
    this.#repeatedAt = now;
    this.#retryAt = now + retryDelay(this.#peer, this.#attempt);
    this.#wake();
    wire.send(packet, length);
  }

  #wake(): void {
    this.#peer.wire.wake(Math.min(this.#retryAt, endOfWait(this.#peer, this.#wait)));
  }

  #retry(): void {
    const { wire, quirks } = this.#peer;
    const opening = this.#handshake.phase === 'open';
    if (opening && !this.#owner.isAwaited) {
      this.#retryAt = wire.now() + retryDelay(this.#peer, this.#attempt);
      this.#wake();
    } else if (this.#attempt >= triesFromOneSource && quirks.wasIn && !this.#movedSource) this.#moveSource();
    else if (this.#attempt < (opening ? this.#peer.timing.tries : rakpTries)) this.#send();
    else if (!opening && this.#restarts < mostRestarts) {
      this.#sayGoodbye();
      this.#restart();
    } else {
      this.#retryAt = Number.POSITIVE_INFINITY;
      this.#wake();
    }
  }

  #proceed(): void {
    const { phase, taken } = this.#handshake;
    const { quirks, pace, wire } = this.#peer;
    const tries = { first: this.#sentAt, last: this.#repeatedAt, next: this.#retryAt };
    pace.note(answerTime(tries, wire.now()), wire.now());
    if (phase === 'rakp1' && taken) noteRoundTrip(quirks, wire.now() - taken.sentAt);
    this.#wait = beginNextWait(this.#peer);
    this.#attempt = 0;
    this.#send();
  }

  /** Begins again from the open request. */
  #restart(): void {
    this.#restarts++;
    this.#again();
  }

  #again(): void {
    this.#release(undefined);
    this.#handshake = this.#newHandshake();
    this.#attempt = 0;
    this.#send();
  }

  #refused({ by, status }: Extract<Verdict, { kind: 'refused' }>): void {
    const { where, credentials, quirks, timing } = this.#peer;
    const canRestart = this.#restarts < mostRestarts;
    if (by === 'open' && refusesSuite(status) && this.#suites.length > 1) {
      this.#suites.shift();
      return this.#again();
    }
    if (by === 'rakp2' && refusesLevel(status) && quirks.level > lowestLevel) {
      quirks.level--;
      return this.#again();
    }
    if (by === 'open' && !this.#doubted) {
      this.#doubted = true;
      this.#suites = this.#suitesToTry();
      return this.#again();
    }
    if (by !== 'open' && forgotSession(status) && canRestart) return this.#restart();
    // A BMC that made a new random number for a repeated RAKP 1 finds our RAKP 3 wrong.
    if (by === 'rakp4' && status === statuses.invalidCheckValue && this.#restarts === 0 && this.#repeated) {
      return this.#restart();
    }
    const fault =
      by === 'open' && refusesSuite(status)
        ? refusedSuites(where, status, credentials.suites)
        : refusedLogin(where, credentials.userName, status);
    this.#fail(fault, isCrowded(status) ? timing.crowdedHold : timing.loginHold);
  }

  #unproven(by: 'rakp2' | 'rakp4'): void {
    const { where, credentials, timing, wire } = this.#peer;
    const packet = wire.packet();
    wire.send(packet, writeFarewell(this.#handshake, packet));
    const { userName, hasKg } = credentials;
    this.#fail(by === 'rakp2' ? wrongPassword(where, userName) : wrongKg(where, hasKg), timing.loginHold);
  }

  #fail(fault: Fault, hold: number): void {
    this.#ended = true;
    this.#peer.quirks.ownSource = false;
    this.#release(undefined);
    this.#owner.loginFailed(fault, hold);
  }

  #release(kept: number | undefined): void {
    for (const { id } of this.#handshake.offers) if (id !== kept) this.#peer.wire.release(id);
  }
}
