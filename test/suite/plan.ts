// Which files a run of tests has, and how each of them runs.
import { readFileSync } from 'node:fs';
import { isForMachines, type TestFile, testFiles } from './files.ts';

export interface Plan {
  /** A process for each: tests start servers, take file locks and load native modules. */
  readonly apart: readonly string[];
  readonly sharing: readonly string[];
  readonly postgresql: readonly string[];
  /** After all others, one by one: what they try takes a certain time, and fails where a busy machine takes far longer. */
  readonly alone: readonly string[];
  /** Once more, with many more cases. */
  readonly long: readonly string[];
}

/** `npm test`, `npm run test:machines`, or whatever is named. */
export type Part = 'quick' | 'machines' | 'all';

export interface Choice {
  readonly part: Part;
  /** Of what can run on PostgreSQL, all that can and nothing else. */
  readonly onPostgres: boolean;
  /** Names of needs that this machine does not meet. */
  readonly unmet: readonly string[];
  /** The names of the groups to run; all if absent. */
  readonly groups?: readonly string[];
  /** The files to run, of those that the rest allows; all if absent. */
  readonly only?: readonly string[];
}

/** Files about time: they wait for something to have taken long, or not. */
const aboutTime: readonly string[] = ['test/protocols/slp/search.test.ts', 'test/protocols/redfish/connection.test.ts'];

/** Files that try some of very many cases, more of them by the variables that vitest.config.ts gives them. */
const some: readonly string[] = [
  'test/images/killed.test.ts',
  'test/policy/random-accounts.test.ts',
  'test/process/fuzz.test.ts',
];

const runsIn = (part: Part, file: TestFile): boolean => part === 'all' || (part === 'machines') === isForMachines(file);

export function planOf({ part, onPostgres, unmet, groups, only }: Choice): Plan {
  const can = ({ needs }: TestFile): boolean => !needs.some(({ name }) => unmet.includes(name));
  const possible = testFiles().filter(
    (file) => can(file) && (groups?.includes(file.group) ?? true) && (only?.includes(file.path) ?? true),
  );
  const chosen = possible.filter((file) => runsIn(part, file));
  const paths = (files: readonly TestFile[]): string[] => files.map(({ path }) => path);
  const nothing: Plan = { apart: [], sharing: [], postgresql: [], alone: [], long: [] };
  if (onPostgres) return { ...nothing, postgresql: paths(chosen.filter((file) => file.onPostgres)) };
  const alone = chosen.filter(({ path }) => aboutTime.includes(path));
  const others = chosen.filter((file) => !alone.includes(file));
  const hasPostgres = !unmet.includes('postgresql');
  return {
    apart: paths(others.filter(({ pure }) => !pure)),
    sharing: paths(others.filter(({ pure }) => pure)),
    postgresql: hasPostgres ? paths(chosen.filter(({ alwaysOnPostgres }) => alwaysOnPostgres)) : [],
    alone: paths(alone),
    long: part !== 'machines' ? [] : paths(possible.filter(({ path }) => some.includes(path))),
  };
}

export const pathsOf = (plan: Plan): readonly string[] => [...new Set(Object.values(plan).flat())];

/** The plan that `npm test` has made; where vitest is called by itself, all that there is. */
export function currentPlan(): Plan {
  const file = process.env['MUSTER_TEST_PLAN'];
  if (file !== undefined) return JSON.parse(readFileSync(file, 'utf8')) as Plan;
  return planOf({ part: 'all', onPostgres: false, unmet: [] });
}
