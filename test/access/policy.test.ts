import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  comparePriority,
  compilePolicy,
  isPriority,
  type PolicyRequest,
  type PolicyRow,
} from '../../src/access/policy.ts';

const groups: Record<string, string> = { gb: 'n8,n9', all: 'n1,n2,n8,n9' };

function expand(range: string): Set<string> {
  if (range === 'broken') throw new Error('unknown name');
  return new Set(range.split(',').flatMap((piece) => (groups[piece] ?? piece).split(',')));
}

function request(part: Partial<PolicyRequest>): PolicyRequest {
  return {
    user: 'bob',
    addresses: ['10.0.0.7'],
    command: 'rpower',
    line: 'on',
    nodes: ['n1', 'n2'],
    now: new Date(2031, 0, 6, 12),
    ...part,
  };
}

/** Who is in which groups. */
const members: Record<string, readonly string[]> = { carol: ['admins', 'staff'], dave: ['staff'] };
const compile = (rows: PolicyRow[]) => compilePolicy(rows).for((user) => members[user] ?? []);

const decide = (rows: PolicyRow[], part: Partial<PolicyRequest> = {}) => compile(rows).decide(request(part), expand);

interface RecordedCase {
  case: string;
  allowed: boolean;
  policies: Record<string, string | number>[];
  request: { arg?: string[]; command: string; noderange?: string; remote_client?: string };
  tlsPeerHost: string;
  user: string | null;
}

describe('recorded decisions of the reference system', () => {
  const file = new URL('../data/policy-cases.json', import.meta.url);
  const cases = JSON.parse(readFileSync(file, 'utf8')) as RecordedCase[];
  test.each(cases.map((one) => [one.case, one] as const))(
    '%s',
    (_name, { allowed, policies, request: asked, tlsPeerHost, user }) => {
      const rows = policies.map((row) =>
        Object.fromEntries(Object.entries(row).map(([column, value]) => [column, `${value}`])),
      );
      const decision = decide(rows as unknown as PolicyRow[], {
        user: user ?? undefined,
        addresses: (asked.remote_client ?? tlsPeerHost).split(',').filter((name) => name !== ''),
        command: asked.command,
        line: (asked.arg ?? []).join(' '),
        nodes: asked.noderange?.split(','),
      });
      expect(decision.allowed).toBe(allowed);
    },
  );
});

describe('one allow rule for bob, asked for rpower on n1,n2 with line "on" on Monday noon', () => {
  const cases: [column: Partial<PolicyRow>, part: Partial<PolicyRequest>, allowed: boolean][] = [
    [{}, {}, true],
    [{ name: '' }, {}, true],
    [{ name: '*' }, {}, true],
    [{ name: '*' }, { user: undefined }, false],
    [{ name: '' }, { user: undefined }, false],
    [{ name: '' }, { user: '' }, false],
    [{ name: 'Bob' }, {}, false],
    [{ name: ' ' }, {}, false],
    [{ name: 'bob,al' }, {}, false],
    [{ rule: 'ALLOW' }, {}, true],
    [{ rule: ' trusted ' }, {}, true],
    [{ rule: 'allow, trusted' }, {}, true],
    [{ rule: 'disallow' }, {}, false],
    [{ rule: 'not allow' }, {}, false],
    [{ rule: 'allowed' }, {}, false],
    [{ rule: 'deny' }, {}, false],
    [{ rule: '' }, {}, false],
    [{ commands: 'rpower' }, {}, true],
    [{ commands: 'lsdef, rpower' }, {}, true],
    [{ commands: 'rpowerx,xrpower' }, {}, false],
    [{ commands: 'rpower' }, { command: 'rinv' }, false],
    [{ commands: 'tabdump' }, { command: 'getAttribs' }, true],
    [{ commands: 'tabch' }, { command: 'getAttribs' }, false],
    [{ commands: 'getAttribs' }, { command: 'getAttribs' }, true],
    [{ commands: ' * ' }, {}, true],
    [{ commands: ',' }, {}, false],
    [{ parameters: '*' }, {}, true],
    [{ parameters: '^on$' }, {}, true],
    [{ parameters: '^o$' }, {}, false],
    [{ parameters: 'n' }, {}, true],
    [{ parameters: ' n' }, {}, false],
    [{ parameters: '(' }, {}, false],
    [{ parameters: '(?=on)' }, {}, false],
    [{ parameters: 'on|\\pL{990}' }, {}, false],
    [{ host: '10.0.0.7' }, {}, true],
    [{ host: '10.0.0.8' }, {}, false],
    [{ host: '*' }, {}, true],
    [{ host: ' ' }, {}, false],
    [{ host: 'Admin' }, { addresses: ['10.0.0.7', 'admin', 'admin.example.com'] }, true],
    [{ host: '10.0.0.7' }, { addresses: ['::ffff:10.0.0.7'] }, true],
    [{ host: 'FE80:0::1' }, { addresses: ['fe80::1'] }, true],
    [{ time: '*' }, {}, true],
    [{ time: 'Mon-Fri 08:00-18:00' }, {}, true],
    [{ time: 'Tue-Fri 08:00-18:00' }, {}, false],
    [{ time: 'office hours' }, {}, false],
    [{ noderange: '*' }, {}, true],
    [{ noderange: 'all' }, {}, true],
    [{ noderange: 'n1' }, {}, false],
    [{ noderange: 'gb' }, {}, false],
    [{ noderange: 'broken' }, {}, false],
    [{ noderange: 'all' }, { nodes: undefined }, false],
    [{ noderange: 'all' }, { nodes: [] }, false],
    [{}, { nodes: undefined }, true],
    [{ disable: 'yes' }, {}, false],
    [{ disable: '1' }, {}, false],
    [{ disable: 'No' }, {}, true],
    [{ disable: '0' }, {}, true],
    [{ disable: '' }, {}, true],
  ];
  test.each(cases)('%j %j: %j', (column, part, allowed) => {
    expect(decide([{ priority: '1', name: 'bob', rule: 'allow', ...column }], part).allowed).toBe(allowed);
  });
});

describe('a deny rule before a general allow', () => {
  const cases: [column: Partial<PolicyRow>, part: Partial<PolicyRequest>, allowed: boolean][] = [
    [{}, {}, false],
    [{ name: 'al' }, {}, true],
    [{ commands: 'rinv' }, {}, true],
    [{ parameters: 'off' }, {}, true],
    [{ parameters: '(' }, {}, false],
    [{ parameters: 'off|\\pL{990}' }, {}, false],
    [{ parameters: '(', commands: 'rinv' }, {}, true],
    [{ parameters: '(', name: 'al' }, {}, true],
    [{ time: 'sometimes' }, {}, false],
    [{ time: '13:00-14:00' }, {}, true],
    [{ host: '10.0.0.8' }, {}, true],
    [{ noderange: 'broken' }, {}, false],
    [{ noderange: 'broken' }, { nodes: undefined }, true],
    [{ noderange: 'n2' }, {}, false],
    [{ noderange: 'n2' }, { nodes: ['n1'] }, true],
    [{ noderange: 'n2' }, { nodes: undefined }, true],
    [{ disable: 'yes' }, {}, true],
  ];
  test.each(cases)('%j %j: %j', (column, part, allowed) => {
    const rows = [
      { priority: '2', name: 'bob', rule: 'allow' },
      { priority: '1', rule: 'deny', ...column },
    ];
    expect(decide(rows, part).allowed).toBe(allowed);
  });
});

describe('the decision names', () => {
  test('the rule that permits', () => {
    expect(decide([{ priority: '4.5', rule: 'allow' }])).toEqual({ allowed: true, priority: '4.5' });
  });

  test('the first node a deny rule hits', () => {
    const rows = [{ priority: '3', noderange: 'n2', rule: 'deny' }];
    expect(decide(rows)).toEqual({ allowed: false, node: 'n2', priority: '3' });
  });

  test('the first node no rule covers', () => {
    expect(decide([{ priority: '1', noderange: 'n1', rule: 'allow' }])).toEqual({ allowed: false, node: 'n2' });
  });

  test('no node if the request has none', () => {
    expect(decide([{ priority: '1', rule: 'deny' }], { nodes: undefined })).toEqual({ allowed: false, priority: '1' });
    expect(decide([], { nodes: undefined })).toEqual({ allowed: false });
  });
});

test('a request for many nodes is allowed exactly if each node alone is', () => {
  const nodes = ['n1', 'n2', 'n3', 'n4'];
  const row = fc.record({
    priority: fc.integer({ min: 0, max: 20 }).map(String),
    name: fc.constantFrom('', '*', 'bob', 'al'),
    commands: fc.constantFrom('', 'rpower', 'rinv'),
    noderange: fc.oneof(
      fc.constantFrom('', 'broken'),
      fc.subarray(nodes, { minLength: 1 }).map((some) => some.join()),
    ),
    rule: fc.constantFrom('allow', 'deny', 'allow'),
  });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 6 }), fc.subarray(nodes, { minLength: 1 }), (rows, asked) => {
      const policy = compile(rows);
      const alone = asked.every((node) => policy.decide(request({ nodes: [node] }), expand).allowed);
      expect(policy.decide(request({ nodes: asked }), expand).allowed).toBe(alone);
    }),
  );
});

test('remembered plans keep users and commands apart', () => {
  const policy = compile([
    { priority: '1', name: 'bob', commands: 'tabdump', rule: 'allow' },
    { priority: '2', name: 'al', rule: 'allow' },
  ]);
  const ask = (part: Partial<PolicyRequest>) => policy.decide(request(part), expand).allowed;
  for (let round = 0; round < 2; round++) {
    expect(ask({ user: 'bob', command: 'getAttribs' })).toBe(true);
    expect(ask({ user: 'bob', command: 'setAttribs' })).toBe(false);
    expect(ask({ user: 'al', command: 'getAttribs' })).toBe(true);
    expect(ask({ user: 'bob', command: 'tabdump' })).toBe(true);
    expect(ask({ user: 'bob', command: 'tabch' })).toBe(false);
  }
});

test('ranges are not expanded when no rule in reach asks for them', () => {
  const policy = compile([
    { priority: '1', name: 'root', rule: 'allow' },
    { priority: '2', noderange: 'all', rule: 'allow' },
  ]);
  const expandNever = vi.fn(expand);
  expect(policy.decide(request({ user: 'root' }), expandNever).allowed).toBe(true);
  expect(expandNever).not.toHaveBeenCalled();
});

test.each([
  [[{ priority: '1', host: 'admin', rule: 'allow' }], true],
  [[{ priority: '1', host: '10.0.0.7', rule: 'allow' }], false],
  [[{ priority: '1', host: 'fe80::1', rule: 'allow' }], false],
  [[{ priority: '1', host: '*', rule: 'allow' }], false],
  [[{ priority: '1', host: 'admin', rule: 'allow', disable: 'yes' }], false],
])('%j needs host names: %j', (rows, needed) => {
  expect(compile(rows).needsHostNames).toBe(needed);
});

test('dependsOn looks only at rules that can be reached', () => {
  const policy = compile([
    { priority: '1', name: 'root', rule: 'allow' },
    { priority: '2', commands: 'tabdump', parameters: 'nodelist', rule: 'allow' },
    { priority: '3', noderange: 'gb', rule: 'deny' },
    { priority: '4', rule: 'allow' },
  ]);
  expect(policy.dependsOn('root', 'rpower')).toEqual({ nodes: false, line: false });
  expect(policy.dependsOn('bob', 'rpower')).toEqual({ nodes: true, line: false });
  expect(policy.dependsOn('bob', 'getAttribs')).toEqual({ nodes: true, line: true });
  expect(policy.dependsOn(undefined, 'rpower')).toEqual({ nodes: false, line: false });
});

describe('full rights', () => {
  const cases: [what: string, rows: PolicyRow[], full: boolean][] = [
    ['by name', [{ priority: '1', name: 'root', rule: 'allow' }], true],
    ['by a rule for everyone', [{ priority: '1', name: '*', rule: 'trusted' }], true],
    ['not by a rule for another', [{ priority: '1', name: 'bob', rule: 'allow' }], false],
    ['not by one for some commands', [{ priority: '1', name: 'root', commands: 'lsdef', rule: 'allow' }], false],
    ['not by one for some nodes', [{ priority: '1', name: 'root', noderange: 'all', rule: 'allow' }], false],
    ['not by one for some hours', [{ priority: '1', name: 'root', time: '00:00-24:00', rule: 'allow' }], false],
    ['not by one for a host', [{ priority: '1', name: 'root', host: 'admin', rule: 'allow' }], false],
    ['not by one for some arguments', [{ priority: '1', name: 'root', parameters: '.', rule: 'allow' }], false],
    ['not by a disabled one', [{ priority: '1', name: 'root', rule: 'allow', disable: 'yes' }], false],
    [
      'after a narrower permit',
      [
        { priority: '1', commands: 'a', rule: 'allow' },
        { priority: '2', name: 'root', rule: 'allow' },
      ],
      true,
    ],
    [
      'not after a conditional deny',
      [
        { priority: '1', commands: 'a', rule: 'deny' },
        { priority: '2', name: 'root', rule: 'allow' },
      ],
      false,
    ],
    [
      'after a deny for another',
      [
        { priority: '1', name: 'bob', rule: 'deny' },
        { priority: '2', name: 'root', rule: 'allow' },
      ],
      true,
    ],
    [
      'before a deny',
      [
        { priority: '9', rule: 'deny' },
        { priority: '2', name: 'root', rule: 'allow' },
      ],
      true,
    ],
    ['not by nothing', [], false],
  ];
  test.each(cases)('%s', (_what, rows, full) => {
    expect(compile(rows).fullRights('root')).toBe(full);
  });
});

describe('priorities', () => {
  test.each([
    ['9', '10'],
    ['1.10', '1.9'],
    ['1.1', '1.10'],
    ['0.5', '1'],
    ['1.2.10', '1.3'],
    ['1', '1.0'],
  ])('%s comes before %s', (first, second) => {
    expect(comparePriority(first, second)).toBeLessThan(0);
    expect(comparePriority(second, first)).toBeGreaterThan(0);
    expect(comparePriority(first, first)).toBe(0);
  });

  test.each(['1', '10', '4.9', '1.10', '1.2.3', '0'])('%j is one', (text) => expect(isPriority(text)).toBe(true));
  test.each(['', '.', '1.', '.5', '-1', '1e3', '1,2', ' 1', '1\n', 'one', '1..2'])('%j is none', (text) =>
    expect(isPriority(text)).toBe(false),
  );
});

describe('the patterns of a policy', () => {
  const rows = (count: number): PolicyRow[] =>
    Array.from({ length: count }, (_, i) => ({
      priority: String(i + 1),
      parameters: `x{900}${i}|on ${i}$`,
      rule: 'allow',
    }));

  test('judge lines of any length, however much that costs', () => {
    const line = `${'ab'.repeat(50_000)} ${'x'.repeat(800)} on 3`;
    expect(decide(rows(5), { line })).toEqual({ allowed: true, priority: '4' });
    expect(decide(rows(5), { line: line.slice(0, -1) }).allowed).toBe(false);
  });

  test('that are too large all together permit nothing from there on', () => {
    expect(decide(rows(50), { line: 'on 49' }).allowed).toBe(true);
    expect(decide(rows(200), { line: 'on 49' }).allowed).toBe(true);
    expect(decide(rows(200), { line: 'on 199' }).allowed).toBe(false);
  });
});

describe('rules for groups', () => {
  const rows: PolicyRow[] = [
    { priority: '2', name: '@staff', commands: 'rpower', parameters: '^off$', rule: 'deny' },
    { priority: '3', name: '@Admins', rule: 'allow' },
    { priority: '4', name: 'dave', commands: 'rpower', rule: 'allow' },
  ];

  test('count for members, whatever the case of the letters, and for nobody else', () => {
    expect(decide(rows, { user: 'carol' })).toMatchObject({ allowed: true, priority: '3' });
    expect(decide(rows, { user: 'carol', line: 'off' })).toMatchObject({ allowed: false, priority: '2' });
    expect(decide(rows, { user: 'dave' })).toMatchObject({ allowed: true, priority: '4' });
    expect(decide(rows, { user: 'bob' }).allowed).toBe(false);
    // An account of that name is no member.
    expect(decide(rows, { user: '@admins' }).allowed).toBe(false);
    expect(decide(rows, { user: 'admins' }).allowed).toBe(false);
  });

  test('say by which group they count', () => {
    const { steps } = compile(rows).explain(request({ user: 'carol' }), expand);
    expect(steps).toEqual([
      { priority: '2', group: 'staff', says: 'has parameters that do not match the line' },
      { priority: '3', group: 'admins', says: 'allows it' },
    ]);
  });

  test('give full rights to members who are refused nothing', () => {
    expect(compile(rows).fullRights('carol')).toBe(false);
    expect(compile(rows.slice(1)).fullRights('carol')).toBe(true);
    expect(compile(rows.slice(1)).fullRights('dave')).toBe(false);
  });

  test('follow who is a member, with the rules as they were compiled', () => {
    const compiled = compilePolicy(rows.slice(1));
    const joined: Record<string, readonly string[]> = { erin: ['admins'] };
    const before = compiled.for((user) => joined[user] ?? []);
    expect(before.alwaysAllows('erin', 'tabch')).toBe(true);
    expect(compiled.for(() => []).alwaysAllows('erin', 'tabch')).toBe(false);
    expect(compiled.for(() => ['staff', 'admins']).alwaysAllows('erin', 'tabch')).toBe(true);
  });
});
