import type { SuiteId } from './suites.ts';
import type { Habits } from './timing.ts';

/**
 * Which suite a BMC takes is remembered, so that not every login begins with a refusal. But a refusal of a suite is not
 * authenticated: whoever is on the way to the BMC can forge one. What is learnt from it therefore ends a fixed time after the
 * refusal, however often it is used meanwhile, and with the first login at a BMC of another GUID, which the password has proved.
 * Then the suite the policy wants first is tried first again.
 */
export function rememberedSuite(policy: readonly SuiteId[], { lesserSuite }: Habits, now: number): SuiteId | undefined {
  return policy.find((id) => id === lesserSuite?.id && now < lesserSuite.until);
}

/** After a login with this suite; `remembered` is the one that came first from memory, and `until` how long a new one is kept. */
export function learnSuite(
  policy: readonly SuiteId[],
  habits: Habits,
  id: SuiteId,
  remembered: SuiteId | undefined,
  guid: Buffer,
  until: number,
): void {
  const isOther = habits.lesserSuite?.guid.equals(guid) === false;
  if (id === policy[0] || (id === remembered && isOther)) habits.lesserSuite = undefined;
  else if (id !== remembered) habits.lesserSuite = { id, guid: Buffer.from(guid), until };
}
