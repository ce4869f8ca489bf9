import type { Fault } from '../../core/errors.ts';
import { type Abortable, unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Exchange, type ExchangeOwner } from './exchange.ts';
import {
  cancelled,
  garbledAnswer,
  missingPrivilege,
  requestTooLong,
  silent,
  silentInSession,
  stopping,
  unknownWhetherDone,
} from './faults.ts';
import type { IpmiRequest, IpmiResponse, Privilege } from './link.ts';
import { Login, type LoginOwner } from './login.ts';
import { beginNextWait, beginWait, endOfWait, type Peer, type Wait } from './peer.ts';
import { levels, longestData, newSession, type Seal, sendClose, type Session } from './session.ts';
import type { Talker } from './wire.ts';

/** IPMI 2.0 22.18. */
const app = 0x06;
const setPrivilegeLevel = 0x3b;

/** Silence in a session from before this request is taken for its loss after so many tries, while there is time for a new one. */
const triesInOldSession = 3;
/** A session unused for so long is asked for a sign of life before it gets a command that cannot be repeated. */
const trusted = 5_000;

interface Job extends Abortable {
  readonly request: IpmiRequest;
  readonly privilege: Privilege;
  readonly signal: AbortSignal;
  readonly resolve: (response: IpmiResponse) => void;
  readonly reject: (fault: Fault) => void;
  startedAt: number;
  wait: Wait;
  /** A session was opened for it already. */
  renewed: boolean;
}

/** All talk with one BMC under one account: a queue of requests over a session that is opened, kept and renewed as needed. */
export class Conversation implements LoginOwner, ExchangeOwner, Talker {
  readonly #peer: Peer;
  readonly #retired: () => void;
  readonly #queue: Job[] = [];
  #job: Job | undefined;
  #session: Session | undefined;
  #login: Login | undefined;
  #exchange: Exchange | undefined;
  /** The level the running exchange raises the session to; undefined if it is the request itself. */
  #raising: number | undefined;
  #idleAt = Number.POSITIVE_INFINITY;
  #hold: { readonly until: number; readonly fault: Fault } | undefined;

  /** `retired` is called when the conversation holds nothing any more and can be forgotten. */
  constructor(peer: Peer, retired: () => void) {
    this.#peer = peer;
    this.#retired = retired;
  }

  request(request: IpmiRequest, signal: AbortSignal): Promise<IpmiResponse> {
    const { where, wire } = this.#peer;
    const length = request.data?.length ?? 0;
    if (signal.aborted) return this.#refuse(cancelled(where, signal));
    if (length > longestData) return this.#refuse(requestTooLong(length, longestData));
    if (this.#hold && wire.now() < this.#hold.until) return Promise.reject(this.#hold.fault);
    return new Promise((resolve, reject) => {
      const privilege = request.privilege ?? 'user';
      const job: Job = {
        request,
        privilege,
        signal,
        resolve,
        reject,
        aborted: () => this.#abandon(job),
        startedAt: wire.now(),
        wait: beginWait(this.#peer),
        renewed: false,
      };
      watchAbort(signal, job);
      this.#queue.push(job);
      this.#next();
    });
  }

  receive(packet: Buffer): void {
    if (this.#login) this.#login.receive(packet);
    else this.#exchange?.receive(packet);
  }

  tick(now: number): void {
    if (this.#login) this.#login.tick(now);
    else if (this.#exchange) this.#exchange.tick(now);
    else if (this.#session && now < this.#idleAt) this.#peer.wire.wake(this.#idleAt);
    else if (this.#hold && now < this.#hold.until) this.#peer.wire.wake(this.#hold.until);
    else this.#retire();
  }

  /** A packet could not be sent at all. In a session that counts as a lost packet. */
  unreachable(error: NodeJS.ErrnoException): void {
    this.#login?.unreachable(error);
  }

  /** Ends everything; nothing is waited for. */
  close(): void {
    this.#login?.leave();
    this.#login = undefined;
    this.#exchange = undefined;
    this.#hold = undefined;
    const jobs = this.#job ? [this.#job, ...this.#queue] : this.#queue;
    this.#job = undefined;
    for (const job of jobs.splice(0)) fail(job, stopping());
    this.#queue.length = 0;
    this.#retire();
  }

  get isAwaited(): boolean {
    return this.#job !== undefined;
  }

  loggedIn(seal: Seal): void {
    const { quirks, wire } = this.#peer;
    this.#login = undefined;
    this.#session = newSession(seal, quirks.level, wire.now());
    this.#gotOn();
    this.#proceed();
  }

  /** Whoever waits would meet the same failure, so all fail together. */
  loginFailed(fault: Fault, hold: number): void {
    const { wire } = this.#peer;
    this.#login = undefined;
    const jobs = this.#job ? [this.#job, ...this.#queue.splice(0)] : this.#queue.splice(0);
    this.#job = undefined;
    if (hold > 0) {
      const until = wire.now() + hold;
      this.#hold = { until, fault };
      wire.wake(until);
    } else {
      this.#retire();
    }
    for (const job of jobs) fail(job, fault);
  }

  answered(response: IpmiResponse): void {
    const level = this.#raising;
    this.#exchange = undefined;
    if (level === undefined) return this.#settle((job) => job.resolve(response));
    if (response.code === 0) {
      if (this.#session) this.#session.level = level;
      this.#gotOn();
      return this.#proceed();
    }
    const { where, credentials } = this.#peer;
    this.#settle((job) => job.reject(missingPrivilege(where, credentials.userName, job.privilege, response.code)));
  }

  unanswered(garbled: boolean): void {
    const { where, wire } = this.#peer;
    const job = this.#job;
    const working = this.#raising === undefined;
    this.#exchange = undefined;
    this.#endSession();
    if (!job) return this.#next();
    const waited = wire.now() - job.startedAt;
    if (working && job.request.repeatable === false) {
      return this.#settle(() => job.reject(unknownWhetherDone(where, waited)));
    }
    if (!job.renewed && wire.now() < endOfWait(this.#peer, job.wait)) return this.#proceed();
    const fault = job.renewed ? silentInSession(where, waited) : silent(where, waited);
    this.#settle(() => job.reject(garbled ? garbledAnswer(where) : fault));
  }

  /** The BMC is there, so that it has its time again for what comes next. */
  #gotOn(): void {
    if (this.#job) this.#job.wait = beginNextWait(this.#peer);
  }

  #next(): void {
    if (this.#job) return;
    const { wire, timing } = this.#peer;
    const job = this.#queue.shift();
    const now = wire.now();
    if (job) {
      job.startedAt = now;
      job.wait = beginWait(this.#peer);
      this.#job = job;
      if (this.#login) {
        // It was begun for somebody who has left, and is as good as one of its own.
        job.renewed = true;
        this.#login.join(job.wait);
      } else this.#proceed();
    } else if (this.#session) {
      this.#idleAt = now + timing.idle;
      wire.wake(this.#idleAt);
    } else if (!this.#login) {
      this.#retire();
    }
  }

  /** For a request that is not taken. One that was the first leaves a conversation behind that nobody uses. */
  #refuse(fault: Fault): Promise<never> {
    const isUsed = this.#job ?? this.#login ?? this.#session ?? this.#hold;
    if (!isUsed) this.#retire();
    return Promise.reject(fault);
  }

  /** Does what the request at the head needs next. */
  #proceed(): void {
    const job = this.#job;
    if (!job) return this.#next();
    const { where, credentials, wire, quirks } = this.#peer;
    const session = this.#session;
    if (!session) {
      job.renewed = true;
      this.#login = new Login(this.#peer, this, job.wait, job.startedAt);
      return this.#login.start();
    }
    const level = levels[job.privilege];
    if (level > session.limit) {
      // The account may have been given more meanwhile: the next session asks for all again.
      quirks.level = levels.administrator;
      return this.#settle(() => job.reject(missingPrivilege(where, credentials.userName, job.privilege)));
    }
    const once = job.request.repeatable === false;
    const uncertain = once && wire.now() - session.heardAt > trusted;
    this.#raising = level > session.level || uncertain ? Math.max(level, session.level) : undefined;
    const request =
      this.#raising === undefined
        ? job.request
        : { netfn: app, command: setPrivilegeLevel, data: Uint8Array.of(this.#raising) };
    // What cannot be repeated gets all the time there is for its one answer.
    const wait = once && this.#raising === undefined ? beginWait(this.#peer) : job.wait;
    const giveUpAfter = job.renewed ? undefined : triesInOldSession;
    this.#exchange = new Exchange(this.#peer, this, session, request, wait, giveUpAfter);
    this.#exchange.start();
  }

  #settle(how: (job: Job) => void): void {
    const job = this.#job;
    this.#job = undefined;
    if (job) {
      unwatchAbort(job.signal, job);
      how(job);
    }
    this.#next();
  }

  #abandon(job: Job): void {
    const fault = cancelled(this.#peer.where, job.signal);
    if (job !== this.#job) {
      this.#queue.splice(this.#queue.indexOf(job), 1);
      return fail(job, fault);
    }
    const heir = this.#login ? this.#queue.shift() : undefined;
    if (heir) {
      // It waited for the same login, and has as much time left.
      heir.startedAt = job.startedAt;
      heir.wait = job.wait;
      heir.renewed = true;
      this.#job = heir;
      return fail(job, fault);
    }
    // A login that the BMC takes up goes on, else a session would stay open there: the next request uses it, or it ends when idle.
    this.#exchange = undefined;
    this.#settle(() => job.reject(fault));
  }

  #endSession(): void {
    const { wire } = this.#peer;
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    sendClose(wire, session);
    wire.release(session.seal.consoleId);
  }

  #retire(): void {
    this.#endSession();
    this.#hold = undefined;
    this.#peer.wire.wake(Number.POSITIVE_INFINITY);
    this.#retired();
  }
}

function fail(job: Job, fault: Fault): void {
  unwatchAbort(job.signal, job);
  job.reject(fault);
}
