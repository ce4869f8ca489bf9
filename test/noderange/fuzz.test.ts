import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { expand, expandSyntactic } from '../../src/noderange/index.ts';
import { datasetCluster } from './dataset.ts';

const tokens = [
  `, @ ( ) [ ] - : + = ~ ! / ^ . ' " | * # 0 1 9 10 007 99999999999999999999 node n a x node1 rack1 odd all grp1`,
  'emptygrp nodehm.mgt groups == =~ != !~ node[1-3] n[001-003] node1-node5 ^/F/list1 +2 é 😀',
].flatMap((line) => line.split(' '));
const token = fc.constantFrom(' ', ...tokens);
const text = fc.array(token, { maxLength: 30 }).map((parts) => parts.join(''));
const cluster = datasetCluster();

function attempt(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    expect((error as Fault).kind).toBe('invalid');
    return undefined;
  }
}

test('any text gives sorted unique names or a Fault', () => {
  fc.assert(
    fc.property(text, (range) => {
      for (const verify of [true, false]) {
        const result = attempt(() => expand(range, cluster, { verify, limit: 5000 })) as
          | ReturnType<typeof expand>
          | undefined;
        if (!result) continue;
        expect(result.nodes).toEqual([...new Set(result.nodes)].sort());
        if (verify) expect(result.nodes.filter((name) => !cluster.hasNode(name))).toEqual([]);
        else expect(result.missed).toEqual([]);
      }
      attempt(() => expandSyntactic(range));
    }),
    { numRuns: 5000 },
  );
});

const nodesOf = (range: string) => new Set(expand(range, cluster).nodes);

test('sets combine as sets do', () => {
  const piece = fc.constantFrom('rack1', 'odd', 'even', 'node3', 'node[1-4]', 'mgt==ipmi', 'emptygrp', '/node.');
  fc.assert(
    fc.property(piece, piece, piece, (a, b, c) => {
      const [setA, setB, setC] = [nodesOf(a), nodesOf(b), nodesOf(c)];
      expect(nodesOf(`${a},${b}@${c}`)).toEqual(new Set([...setA.union(setB.intersection(setC))].sort()));
      expect(nodesOf(`${a},-${b},${c}`)).toEqual(new Set([...setA.union(setC).difference(setB)].sort()));
      expect(nodesOf(`(${a},${b})@${c}`)).toEqual(new Set([...setA.union(setB).intersection(setC)].sort()));
      expect(nodesOf(`${a}@(${b},-${c})`)).toEqual(new Set([...setA.intersection(setB.difference(setC))].sort()));
    }),
    { numRuns: 300 },
  );
});
