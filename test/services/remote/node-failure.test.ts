import { expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { nodeFailure } from '../../../src/services/remote/node-failure.ts';

it('tells the sentences of a fault, and what kind it is where that counts', () => {
  expect(nodeFailure('n1', new Fault('invalid', ['one.', 'two.']))).toEqual({ node: 'n1', error: 'one. two.' });
  expect(nodeFailure('n1', new Fault('deadline', 'late.'))).toEqual({ node: 'n1', error: 'late.', kind: 'deadline' });
});

it('cuts what a node made endless', () => {
  const { error } = nodeFailure('n1', new Fault('invalid', `refused: ${'x'.repeat(1_000_000)}`));
  expect(error).toMatch(/^refused: x+\.\.\.$/);
  expect(error.length).toBeLessThan(10_000);
});
