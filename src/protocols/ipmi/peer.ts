import type { Pace } from '../../core/pace.ts';
import type { Credentials, SuiteId } from './link.ts';
import { levels } from './session.ts';
import type { Wire } from './wire.ts';

/** A BMC as the machines see it. */
export interface Peer {
  /** Its address, for sentences. */
  readonly where: string;
  readonly credentials: Credentials;
  readonly timing: Timing;
  readonly quirks: Quirks;
  /** Of all BMCs together. */
  readonly pace: Pace;
  readonly wire: Wire;
}

export interface Timing {
  /** Milliseconds of silence after which a request has failed; a BMC that is slow but gets on with a login is waited for. */
  readonly timeout: number;
  /** How long the first try waits for its answer. */
  readonly firstRetry: number;
  /** How often a packet is sent at most. */
  readonly tries: number;
  /** How long an unused session stays open; BMCs drop it after 60 s. */
  readonly idle: number;
  /** How often the BMC of an open console is asked for a sign of life. */
  readonly keepAlive: number;
  /** How long a refused login is not tried again: every try takes a session from the BMC until it forgets it. */
  readonly loginHold: number;
  /** The same for a BMC whose sessions are all taken. */
  readonly crowdedHold: number;
  /** How long it is remembered that a BMC refuses the suite the policy wants first. */
  readonly suiteMemory: number;
}

export const defaultTiming: Timing = {
  timeout: 5_000,
  firstRetry: 400,
  tries: 20,
  idle: 25_000,
  keepAlive: 20_000,
  loginHold: 5_000,
  crowdedHold: 30_000,
  suiteMemory: 3_600_000,
};

/** A suite that worked after the BMC had refused the one the policy wants first. */
interface LesserSuite {
  readonly id: SuiteId;
  /** The BMC it was learnt of; the GUID was proved with the password. */
  readonly guid: Buffer;
  readonly until: number;
}

/** What was learnt about a BMC; it outlives the sessions. */
export interface Quirks {
  lesserSuite: LesserSuite | undefined;
  /** The highest privilege level it let the account ask for. */
  level: number;
  /** Milliseconds that answers took of late. */
  roundTrip: number;
  /** Whether it has let us in before. */
  wasIn: boolean;
  /** It keeps sessions by the port they come from and never frees them, as pyghmi's BMC does: each session needs a port of its own. */
  ownSource: boolean;
}

export const newQuirks = (): Quirks => ({
  lesserSuite: undefined,
  level: levels.administrator,
  roundTrip: 0,
  wasIn: false,
  ownSource: false,
});

export function noteRoundTrip(quirks: Quirks, sample: number): void {
  quirks.roundTrip = Math.max(0, sample, (quirks.roundTrip + sample) / 2);
}

/** Since when a BMC is waited for, and how much this process had missed by then. */
export interface Wait {
  readonly since: number;
  readonly lag: number;
  /** How many times the timeout it lasts. */
  readonly times: number;
}

/** How many times the timeout a BMC is waited for that has just answered: it is there, and what is missing was lost on the way. */
const timesForLiving = 2;

export const beginWait = ({ wire }: Peer): Wait => ({ since: wire.now(), lag: wire.lag(), times: 1 });
export const beginNextWait = (peer: Peer): Wait => ({ ...beginWait(peer), times: timesForLiving });

/**
 * When silence means that a request has failed: after the timeout, later by what this process missed meanwhile or while all BMCs are
 * slow, but never later than by the timeout once more.
 */
export function endOfWait({ timing: { timeout }, pace, wire }: Peer, { since, lag, times }: Wait): number {
  const excused = wire.lag() - lag + pace.extra(timeout, wire.now());
  return since + times * timeout + Math.min(timeout, excused);
}

/** How much longer each try is waited for than the one before: ten fit into five seconds, so that a third of lost packets is no failure. */
const growth = 1.05;

/** The part of the timeout that a first try waits at most while answers are not late: lost packets look the same as slow ones. */
const paceShare = 1 / 12;

/** How long to wait for the answer to a try, the first being 1: longer each time, never all at once, and no less than BMCs need. */
export function retryDelay({ timing, quirks, pace, wire }: Peer, attempt: number): number {
  const { firstRetry, timeout } = timing;
  const now = wire.now();
  const longest = pace.extra(timeout, now) > 0 ? timeout : paceShare * timeout;
  const ofAll = Math.min(1.5 * pace.typical(now), longest);
  const base = Math.max(firstRetry, 1.5 * quirks.roundTrip, ofAll);
  return base * growth ** (attempt - 1) * (0.85 + 0.3 * wire.chance());
}

/** The part of the time until the next try in which an answer is taken for one to the last try. */
const soon = 1 / 4;

/** When a packet was first sent, when last, and when it would be sent again. */
export interface Tries {
  readonly first: number;
  readonly last: number;
  readonly next: number;
}

/** How long an answer took. If it comes soon after a try, those before were lost; slow BMCs answer the first try at any time. */
export const answerTime = ({ first, last, next }: Tries, now: number): number =>
  now - (now - last < soon * (next - last) ? last : first);

/**
 * Which suite a BMC takes is remembered, so that not every login begins with a refusal. But a refusal of a suite is not
 * authenticated: whoever is on the way to the BMC can forge one. What is learnt from it therefore ends a fixed time after the
 * refusal, however often it is used meanwhile, and with the first login at a BMC of another GUID, which the password has proved.
 * Then the suite the policy wants first is tried first again.
 */
export function rememberedSuite(policy: readonly SuiteId[], { lesserSuite }: Quirks, now: number): SuiteId | undefined {
  return policy.find((id) => id === lesserSuite?.id && now < lesserSuite.until);
}

/** After a login with this suite; `remembered` is the one that came first from memory, and `until` how long a new one is kept. */
export function learnSuite(
  policy: readonly SuiteId[],
  quirks: Quirks,
  id: SuiteId,
  remembered: SuiteId | undefined,
  guid: Buffer,
  until: number,
): void {
  const isOther = quirks.lesserSuite?.guid.equals(guid) === false;
  if (id === policy[0] || (id === remembered && isOther)) quirks.lesserSuite = undefined;
  else if (id !== remembered) quirks.lesserSuite = { id, guid: Buffer.from(guid), until };
}
