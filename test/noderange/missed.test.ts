import { describe, expect, test } from 'vitest';
import { missedFault } from '../../src/noderange/index.ts';

describe('unknown names', () => {
  test.each([
    [['nosuch'], 'nosuch', 'nosuch'],
    [['nosuch'], 'node1,nosuch', 'nosuch (at column 7)'],
    [['node1'], 'node10,node1', 'node1 (at column 8)'],
    [['b', 'a'], 'x,(a),-b', 'b,a (the first at column 8)'],
    [['n2'], 'n1-n2x,n[1-3]', 'n2'],
    [[''], 'a+1', 'a count (+n) after a name without a number'],
  ])('%j in %s', (missed, text, expected) => {
    const fault = missedFault(missed, text);
    expect(fault.kind).toBe('unknown-object');
    expect(fault.message).toBe(`Invalid nodes and/or groups in noderange: ${expected}`);
  });

  test('a long list is cut', () => {
    const missed = Array.from({ length: 60 }, (_, i) => `x${i}`);
    expect(missedFault(missed, 'x[0-59]').message).toMatch(/x49 and 10 more$/);
  });
});
