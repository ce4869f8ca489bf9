import { expect, test } from 'vitest';
import type { Logger } from '../../src/core/log.ts';
import { DoubtfulClaims } from '../../src/machines/doubtful-claims.ts';

const minute = 60_000;

function claimsHeard() {
  const lines: string[] = [];
  const told: (readonly string[])[] = [];
  const log = { warn: (_data: object, line: string) => lines.push(line) } as unknown as Logger;
  const claims = new DoubtfulClaims({ log, events: { notice: (nodes) => told.push(nodes) } });
  const claimed = (doubtful: readonly string[], at: number, ...names: string[]) =>
    claims.note(
      names.map((name) => ({ name, home: 'hv1', doubtful })),
      at,
    );
  return { claims, claimed, lines, told };
}

test('a claim is told once, however often it is seen', () => {
  const { claimed, told } = claimsHeard();
  claimed(['hv9'], 0, 'n1');
  claimed(['hv9'], 1, 'n1');
  claimed(['hv9'], 100 * minute, 'n1');
  claimed(['hv9', 'hv8'], 100 * minute, 'n1');
  expect(told).toEqual([['n1'], ['n1']]);
});

test('a claim that comes and goes is told again after a while only, and then forgotten', () => {
  const { claims, claimed, told } = claimsHeard();
  for (let second = 0; second < 100; second++) claimed(second % 2 === 0 ? ['hv9'] : [], second * 1_000, 'n1');
  expect(told.length).toBe(1);
  claimed(['hv9'], 30 * minute, 'n1');
  expect(told.length).toBe(2);
  claimed([], 60 * minute, 'n1');
  claimed([], 61 * minute, 'n1');
  expect(claims.nodes).toEqual([]);
});

test('of a hypervisor that claims many machines it is one sentence, which says what to do', () => {
  const { claimed, lines, told } = claimsHeard();
  const names = Array.from({ length: 1_000 }, (_, i) => `n${i}`);
  claimed(['hv9'], 0, ...names);
  expect(told).toEqual([names]);
  expect(lines).toEqual([
    'hv9 has virtual machines with the names and UUIDs of n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 990 other nodes, whose vmhost is hv1. ' +
      'Their vmhost and status were not changed. If they have moved, confirm it for each NODE with "chdef NODE vmhost=hv9", or name hv9 in its migrationdest.',
  ]);
});
