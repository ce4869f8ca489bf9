import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { tokensOf } from '../../src/access/tokens.ts';
import { SortedMap } from '../../src/database/sorted-map.ts';
import type { Row } from '../../src/database/tables.ts';

const id = fc.nat({ max: 400 }).map((number) => `t${number}`);
const account = fc.constantFrom('anna', 'bert', 'carl');
/** Writes of tokens, or removals, and which of the earlier states is looked at next. */
const steps = fc.array(fc.record({ writes: fc.array(fc.tuple(id, fc.option(account))), back: fc.nat({ max: 3 }) }), {
  maxLength: 12,
});

test('the tokens of an account are those that the rows hold, in whatever order states are looked at', () => {
  fc.assert(
    fc.property(steps, (made) => {
      const states: SortedMap<Row>[] = [SortedMap.empty()];
      for (const { writes, back } of made) {
        const changes = writes.map(
          ([key, username]) => [key, username ? { tokenid: key, username } : undefined] as const,
        );
        states.push(states.at(-1)!.with(new Map(changes)));
        const state = states.at(-1 - back) ?? states[0]!;
        for (const name of ['anna', 'bert', 'carl', 'nobody']) {
          const expected = [...state.entries()].filter(([, row]) => row['username'] === name);
          expect([...tokensOf(state, name)].sort(([a], [b]) => (a < b ? -1 : 1))).toEqual(expected);
        }
      }
    }),
  );
});
