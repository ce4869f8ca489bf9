import { Fault, Unreachable } from '../../core/errors.ts';
import type { Accounts } from '../accounts.ts';

/** Which password counts: the new one, the one before, or that again after the BMC had kept neither. */
export type Settled = 'new' | 'old' | 'restored';

/** Milliseconds before each look: some hardware takes a password on a moment after it has said so. */
const looks: readonly number[] = [0, 1_500];
/** The same between attempts to reach a BMC that does not answer. */
const retries: readonly number[] = [1_000, 2_000, 4_000];
/** What hardware is known to cut passwords to. */
const cuts: readonly number[] = [16, 8, 12, 15, 14, 10];

type Pause = (milliseconds: number) => Promise<void>;
type Own = Pick<Accounts, 'own' | 'letsIn' | 'setOwnPassword'>;

/**
 * Finds out by logins which of two passwords the BMC has for muster's own account. One that has neither has cut the new one: the one before
 * is set again, by the session that is open, or by what is left of the new one. `attempt`: how often that was tried before. A Fault if it
 * cannot be known: then both have to be kept.
 */
export async function settle(
  accounts: Own,
  fresh: string,
  attempt: number,
  pause: Pause,
  signal: AbortSignal,
): Promise<Settled> {
  const letsIn = (password: string | undefined): Promise<boolean> =>
    reached(() => accounts.letsIn(accounts.own, password, signal), pause);
  let isOld = false;
  for (const wait of looks) {
    await pause(wait);
    if (await letsIn(fresh)) return 'new';
    isOld = await letsIn(undefined);
  }
  if (isOld) return 'old';
  if (await restored(accounts, undefined, letsIn, signal)) return 'restored';
  // In another order each time: hardware locks an account after a few wrong passwords.
  const lengths = cuts.filter((length) => length < fresh.length);
  for (const index of lengths.keys()) {
    const left = fresh.slice(0, lengths[(index + attempt) % lengths.length]);
    if (!(await letsIn(left))) continue;
    if (await restored(accounts, left, letsIn, signal)) return 'restored';
  }
  throw new Fault(
    'invalid',
    'its BMC accepts neither the new password nor the one before; it may have locked the account, or somebody else may have changed it.',
  );
}

/** Whether the password before counts again. `by`: what lets muster in now, where that is known. */
async function restored(
  accounts: Own,
  by: string | undefined,
  letsIn: (password: string | undefined) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await accounts.setOwnPassword(undefined, signal, by);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // What has become of it, the login shows.
  }
  return letsIn(undefined);
}

/** A BMC that does not answer is waited for a little. */
async function reached<T>(ask: () => Promise<T>, pause: Pause): Promise<T> {
  for (const wait of retries) {
    try {
      return await ask();
    } catch (error) {
      if (!isSilence(error)) throw error;
      await pause(wait);
    }
  }
  return ask();
}

const isSilence = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof Fault && (error.kind === 'deadline' || error.kind === 'unavailable'));
