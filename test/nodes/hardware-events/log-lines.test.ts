import { expect, it } from 'vitest';
import { NewLines, severityOf } from '../../../src/nodes/hardware-events/log-lines.ts';

it.each([
  ['01/05/2026 06:08:09 Critical, Power supply 1 has lost its input.', 'critical'],
  ['01/05/2026 06:09:10 Power supply 1 has its input back.', 'ok'],
  ['11/15/2026 02:51:00 Temperature, Upper Non-critical - going high (CPU1)', 'warning'],
  ['11/15/2026 02:51:00 Temperature, Upper Critical - going high (CPU1) - Recovered', 'ok'],
  ['Memory: Uncorrectable ECC', 'critical'],
  ['Drive 3: predictive failure', 'warning'],
] as const)('"%s" is %s', (line, severity) => expect(severityOf(line)).toBe(severity));

it('only what came since the last look is new, also where lines are equal', () => {
  const lines = new NewLines();
  expect(lines.add(['a', 'b'])).toEqual([]);
  expect(lines.add(['a', 'b', 'b'])).toEqual([{ severity: 'ok', message: 'b' }]);
  // The log was cleared.
  expect(lines.add([])).toEqual([]);
  expect(lines.add(['c']).map(({ message }) => message)).toEqual(['c']);
});
