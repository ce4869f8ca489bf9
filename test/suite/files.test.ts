import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testPackages } from '../../scripts/packages.ts';
import { readWords } from '../../scripts/test/words.ts';
import { reachedBy } from './changed.ts';
import { testFiles } from './files.ts';
import { checkout } from './imports.ts';
import { groupNames, needs } from './needs.ts';
import { pathsOf, planOf } from './plan.ts';
import { readTimes } from './times.ts';

const files = testFiles();
const fileOf = (path: string) => files.find((file) => file.path === `test/${path}.test.ts`);

it('every file is in one group, which test/times.json names, so that no move drops one', () => {
  const noted = Object.entries(readTimes()).flatMap(([key, { group }]) => (key.includes(' ') ? [] : [[key, group]]));
  // For new and moved files: npm test -- FILE --write-times
  expect(Object.fromEntries(noted)).toEqual(Object.fromEntries(files.map(({ path, group }) => [path, group])));
});

it('every file runs in npm test or in npm run test:machines', () => {
  const usual = { onPostgres: false, unmet: [] };
  const quick = planOf({ part: 'quick', ...usual });
  const { long, ...machines } = planOf({ part: 'machines', ...usual });
  const both = [...pathsOf(quick), ...pathsOf({ ...machines, long: [] })];
  expect(both.toSorted()).toEqual(files.map(({ path }) => path));
  expect(long.length).toBeGreaterThan(1);
  expect(pathsOf(planOf({ part: 'all', ...usual })).toSorted()).toEqual(both.toSorted());
});

it('files share a process that start nothing, themselves or by what they import', () => {
  expect(fileOf('noderange/expand')).toMatchObject({ pure: true, group: 'pure', needs: [] });
  expect(fileOf('rest/same-name')).toMatchObject({ pure: false, group: 'servers' });
  expect(fileOf('scripts/test-runner')).toMatchObject({ pure: false });
});

it('what a machine lacks costs the files that need it and no others', () => {
  const plan = (...unmet: string[]) => planOf({ part: 'quick', onPostgres: false, unmet });
  const left = pathsOf(plan()).filter((path) => !pathsOf(plan('bmcs')).includes(path));
  expect(left).toContain('test/hardware/power.test.ts');
  expect(
    left.every((path) => files.find((file) => file.path === path)!.needs.some(({ name }) => name === 'bmcs')),
  ).toBe(true);
  expect(plan('postgresql').postgresql).toEqual([]);
});

it('every package of the tests belongs to a need', () => {
  const named = new Set(needs.flatMap(({ packages }) => packages));
  expect(testPackages.filter(({ name }) => !named.has(name)).map(({ name }) => name)).toEqual([]);
});

it('every need has files', () => {
  expect(needs.filter((need) => !files.some((file) => file.needs.includes(need)))).toEqual([]);
});

it('on PostgreSQL only what opens a database runs', () => {
  const { postgresql } = planOf({ part: 'quick', onPostgres: false, unmet: [] });
  expect(postgresql).toContain('test/rest/definitions.test.ts');
  expect(postgresql).not.toContain('test/rest/openapi.test.ts');
});

it('files that may run at the same time have their labs at different addresses, or ports', () => {
  const users = Map.groupBy(
    files.flatMap(({ path }) => {
      const text = readFileSync(join(checkout, path), 'utf8');
      const places = text
        .matchAll(/'(127\.(?!0\b)\d+)'(?:,\s*(?:port: )?(\d{4}))?/g)
        .map(([, prefix, port]) => `${prefix} ${port}`);
      return [...new Set(places)].map((place) => ({ place, path }));
    }),
    ({ place }) => place,
  );
  expect(users.size).toBeGreaterThan(60);
  expect([...users.values()].filter(({ length }) => length > 1)).toEqual([]);
});

describe('a change reaches', () => {
  it.each([
    ['src/noderange/expand.ts', ['noderange/expand', 'rest/exchanges'], ['vm/power', 'protocols/tftp/server']],
    ['src/protocols/redfish/client.ts', ['protocols/redfish/client', 'hardware/power'], ['names/dns/dns']],
    ['src/names/dhcp/kea-config.ts', ['names/dhcp/kea'], ['hardware/power']],
    ['src/core/errors.ts', ['vm/power', 'names/dns/dns', 'web/console'], []],
    ['test/lab/ssh/daemon.ts', ['remote/nodeshell'], ['vm/watch', 'noderange/expand']],
    ['test/data/noderange-cases.json', ['noderange/cases'], ['names/dns/dns']],
    ['test/web/looks.test.ts', ['web/looks'], ['web/console']],
    ['bench/run.ts', ['rest/exchanges'], ['web/console', 'noderange/expand']],
  ])('with %s what meets it', (changed, reached, others) => {
    const paths = reachedBy([changed]);
    const named = (names: readonly string[]) => names.map((name) => `test/${name}.test.ts`);
    expect(paths).toEqual(expect.arrayContaining(named(reached)));
    expect(named(others).filter((path) => paths.includes(path) || !fileOf(path.slice(5, -8)))).toEqual([]);
  });
});

describe('the words of npm test', () => {
  const read = (line: string) => readWords(line.split(' ').filter(Boolean), groupNames);

  it('name files, groups and tests', () => {
    expect(read('')).toMatchObject({ part: 'quick', files: [], groups: [], others: [] });
    expect(read('test/rest -t power --bail=1')).toMatchObject({
      files: ['test/rest'],
      others: ['-t', 'power', '--bail=1'],
    });
    // Whoever names files means them, wherever they belong.
    expect(read('test/packaging').part).toBe('all');
    expect(read('--group bmcs --group ssh')).toMatchObject({ part: 'all', groups: ['bmcs', 'ssh'] });
    expect(read('--changed')).toMatchObject({ part: 'quick', changedSince: 'HEAD' });
    expect(read('--changed main~2 --complete')).toMatchObject({ changedSince: 'main~2', complete: true });
    expect(read('--machines').part).toBe('machines');
    expect(read('--database postgresql').onPostgres).toBe(true);
  });

  it.each(['--group nosuch', '--group', '--database mysql'])('%s is refused', (line) => {
    expect(() => read(line)).toThrow(`${line.split(' ')[0]} takes one of`);
  });
});
