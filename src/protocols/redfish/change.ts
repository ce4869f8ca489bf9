import { at, type Json } from './json.ts';

/** Whether all that a change names is so already. */
export function isSet(body: Json, change: Json): boolean {
  return everywhere(change, [body], ([now], wanted) => isEqual(now, wanted));
}

/** Whether all that a change names is in two states the same. */
export function isSameIn(before: Json, now: Json, change: Json): boolean {
  return everywhere(change, [before, now], ([a, b]) => isEqual(a, b));
}

/** The values a change names, each beside what the states have in its place; arrays of objects are changed by position. */
function everywhere(
  change: Json,
  states: readonly Json[],
  holds: (states: readonly Json[], wanted: Json) => boolean,
): boolean {
  if (typeof change !== 'object' || change === null) return holds(states, change);
  if (Array.isArray(change) && !change.every((item) => typeof item === 'object' && item !== null))
    return holds(states, change);
  return Object.entries(change).every(([name, wanted]) =>
    everywhere(
      wanted,
      states.map((state) => at(state, name)),
      holds,
    ),
  );
}

const isEqual = (a: Json, b: Json): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
