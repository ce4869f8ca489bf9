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
  /** How long a refused login is not tried again: every try takes a session from the BMC until it forgets it. */
  readonly loginHold: number;
  /** The same for a BMC whose sessions are all taken. */
  readonly crowdedHold: number;
  /** How long it is remembered that a BMC refuses the suite the policy wants first. */
  readonly suiteMemory: number;
}

export const defaultTiming: Timing = {
  timeout: 5_000,
  firstRetry: 500,
  tries: 4,
  idle: 25_000,
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
}

export const beginWait = ({ wire }: Peer): Wait => ({ since: wire.now(), lag: wire.lag() });

/**
 * When silence means that a request has failed: after the timeout, later by what this process missed meanwhile or while all BMCs are
 * slow, but never later than twice the timeout.
 */
export function endOfWait({ timing: { timeout }, pace, wire }: Peer, { since, lag }: Wait): number {
  const excused = wire.lag() - lag + pace.extra(timeout, wire.now());
  return since + timeout + Math.min(timeout, excused);
}

/** How long to wait for the answer to a try, the first being 1: longer each time, never all at once, and no less than BMCs need. */
export function retryDelay({ timing, quirks, pace, wire }: Peer, attempt: number): number {
  const base = Math.max(timing.firstRetry, 1.5 * Math.max(quirks.roundTrip, pace.typical(wire.now())));
  return base * 2 ** (attempt - 1) * (0.85 + 0.3 * wire.chance());
}

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
