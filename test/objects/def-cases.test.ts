import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { isOnlyOnCommandLine, runLine } from '../harness/argv.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';
import scenarios from '../data/def-cases.json' with { type: 'json' };

interface Step {
  command?: string[];
  responses?: { info?: string[]; error?: string[]; errorcode?: number[] }[];
  dumpTable?: string;
  rows?: Record<string, string>[];
  insertRow?: { table: string; row: Record<string, string> };
  skip?: string;
}

type Expected = 'error' | string[] | Record<string, Record<string, string>>;

/** Observed results that muster's own rules replace, by scenario and line. */
const decidedOtherwise: Record<string, Expected> = {
  // A list that names existing and new objects is refused as a whole, so n8 is not made either.
  'mkdef failures: mkdef -t node -o n1,n8 groups=all': 'error',
  'mkdef failures: lsdef -t node -s': ['Node9', 'n1', 'n5', 'n6'],
  // An object without attributes is an empty object, not an error.
  'empty database: lsdef -t site clustersite': { clustersite: {} },
};

function expectedOf(step: Step): Expected {
  const responses = step.responses ?? [];
  if (responses.some(({ error }) => error)) return 'error';
  const names: string[] = [];
  const objects: Record<string, Record<string, string>> = {};
  let attributes: Record<string, string> = {};
  for (const line of responses.flatMap(({ info = [] }) => info).flatMap((text) => text.split('\n'))) {
    const object = /^Object name: (.*)$/.exec(line)?.[1];
    const [, attribute, value] = /^ {4}([^=]+)=(.*)$/.exec(line) ?? [];
    const listed = /^(\S+) {2}\(\w+\)$/.exec(line)?.[1];
    if (object !== undefined) objects[object] = attributes = {};
    else if (attribute !== undefined) attributes[attribute] = value!;
    else if (listed !== undefined) names.push(listed);
  }
  return Object.keys(objects).length > 0 ? objects : names;
}

/** The rule that lets the test run at all is no part of the scenarios. */
const withoutGovernor = (table: string, rows: readonly Record<string, string>[]) =>
  table === 'policy' ? rows.filter((row) => row['priority'] !== '1') : rows;

/** A listing of nothing is empty, whichever form it has. */
const comparable = (result: unknown, argv: readonly string[]): unknown => {
  if (Array.isArray(result)) return argv.includes('policy') ? result.filter((name) => name !== '1') : result;
  return typeof result === 'object' && result !== null && Object.keys(result).length === 0 ? [] : result;
};

const title = ({ command, dumpTable, insertRow }: Step): string =>
  command?.join(' ') ?? (dumpTable ? `the rows of ${dumpTable}` : `a row in ${insertRow!.table}`);

const byKey = (rows: readonly Record<string, string>[]) =>
  new Set(rows.map((row) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))));

describe.each(scenarios as { scenario: string; steps: Step[] }[])('$scenario', ({ scenario, steps }) => {
  let cluster: TestStore;
  beforeAll(async () => {
    cluster = await memoryStore();
  });
  afterAll(() => cluster.close());

  const compared = steps.filter((step) => !step.command || !isOnlyOnCommandLine(step.command));
  test.each(compared.map((step, i) => [`${i}: ${title(step)}`, step] as const))('%s', async (_title, step) => {
    if (step.insertRow) {
      await cluster.put([step.insertRow.table, step.insertRow.row]);
      expect(cluster.rows(step.insertRow.table)).toContainEqual(step.insertRow.row);
      return;
    }
    if (step.dumpTable) {
      expect(byKey(withoutGovernor(step.dumpTable, cluster.rows(step.dumpTable)))).toEqual(byKey(step.rows!));
      return;
    }
    const argv = step.command!;
    const result = runLine(cluster, argv);
    if (step.skip) return void (await result.catch((error: unknown) => expect(error).toBeInstanceOf(Fault)));
    const expected = decidedOtherwise[`${scenario}: ${argv.join(' ')}`] ?? expectedOf(step);
    if (expected === 'error') await expect(result).rejects.toBeInstanceOf(Fault);
    else if (argv[0] === 'lsdef') expect(comparable(await result, argv)).toEqual(expected);
    else expect(await result).toBeUndefined();
  });
});
