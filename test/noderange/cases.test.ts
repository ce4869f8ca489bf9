import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { expand, expandSyntactic } from '../../src/noderange/index.ts';
import { datasetCluster, testData } from './dataset.ts';

interface Case {
  range: string;
  nodes?: string[];
  verify?: boolean;
  syntacticOnly?: boolean;
  siteExcludenodes?: string;
  error?: true | { kind: 'missing'; missed: string[]; partial: string[] } | { kind: 'fatal' };
}

/** Observed results that muster's own rules replace. */
const decidedOtherwise: Record<string, Partial<Case>> = {
  // A bracket that nothing closes is a slip, and no name.
  'node[1-3': { error: true },
  // A pattern is anchored as a whole.
  '/node1|login': { nodes: ['login', 'node1'] },
  // Lines of a range file are never quoted: file and line number stand for the unknown name.
  '(^/F/list1)': {
    error: {
      kind: 'missing',
      missed: ['^/F/list1:7'],
      partial: ['node1', 'node10', 'node2', 'node6', 'node7', 'node8', 'node9'],
    },
  },
};

const cluster = datasetCluster();
const cases = testData<Case[]>('noderange-cases.json').map((row) => ({ ...row, ...decidedOtherwise[row.range] }));

function run({ range, verify, syntacticOnly, siteExcludenodes }: Case) {
  if (syntacticOnly) return { nodes: expandSyntactic(range), missed: [] };
  return expand(range, cluster, { verify: verify ?? true, exclude: siteExcludenodes ?? '' });
}

describe('observed ranges', () => {
  test.each(cases)('$range (verify $verify, exclude $siteExcludenodes)', (row) => {
    if (row.error === undefined) expect(run(row)).toEqual({ nodes: row.nodes, missed: [] });
    else if (row.error === true || row.error.kind === 'fatal') expect(() => run(row)).toThrow(Fault);
    else expect(run(row)).toEqual({ nodes: row.error.partial, missed: row.error.missed });
  });
});
