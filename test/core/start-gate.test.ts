import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { StartGate } from '../../src/rest/http/start-gate.ts';

/** Lets the numbers begin; the list shows which have begun. */
function begin(gate: StartGate, from: number, count: number, begun: number[]): void {
  for (let number = from; number < from + count; number++) {
    const turn = gate.turn();
    if (turn) void turn.then(() => begun.push(number));
    else begun.push(number);
  }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

test('a few begin in each turn of the event loop, in their order', async () => {
  const gate = new StartGate(3);
  const begun: number[] = [];
  begin(gate, 0, 8, begun);
  expect(begun).toEqual(numbers(3));
  await nextTurn();
  expect(begun).toEqual(numbers(6));
  await nextTurn();
  expect(begun).toEqual(numbers(8));
});

test('who comes while others wait begins after them, in what is left of a turn', async () => {
  const gate = new StartGate(3);
  const begun: number[] = [];
  begin(gate, 0, 4, begun);
  begin(gate, 4, 1, begun);
  expect(begun).toEqual(numbers(3));
  await nextTurn();
  expect(begun).toEqual(numbers(5));
  begin(gate, 5, 2, begun);
  expect(begun).toEqual(numbers(6));
  await nextTurn();
  expect(begun).toEqual(numbers(7));
});

test('after a turn in which nobody waited, as many begin at once as before', async () => {
  const gate = new StartGate(2);
  const begun: number[] = [];
  begin(gate, 0, 1, begun);
  await nextTurn();
  begin(gate, 1, 2, begun);
  expect(begun).toEqual(numbers(3));
});
