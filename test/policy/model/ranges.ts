import * as fc from 'fast-check';
import { groupNames, nodeNames } from './world.ts';
import { effective, membersOf, nodesIn, type World } from './state.ts';

/** A node range as it is meant, so that what it stands for can be worked out without reading its text. */
export type Range =
  | { readonly kind: 'node' | 'group'; readonly name: string }
  | {
      readonly kind: 'count';
      readonly form: '-' | '[]';
      readonly prefix: string;
      readonly from: number;
      readonly to: number;
    }
  | {
      readonly kind: 'criterion';
      readonly table: string;
      readonly column: string;
      readonly operator: '==' | '!=' | '=~' | '!~';
      readonly value: string;
    }
  | { readonly kind: 'pattern'; readonly pattern: string }
  | { readonly kind: 'list'; readonly items: readonly Item[] };

interface Item {
  readonly sign: '' | '-' | '@';
  readonly range: Range;
}

export function textOf(range: Range): string {
  switch (range.kind) {
    case 'node':
    case 'group':
      return range.name;
    case 'count': {
      const { prefix, from, to } = range;
      return range.form === '-' ? `${prefix}${from}-${prefix}${to}` : `${prefix}[${from}-${to}]`;
    }
    case 'criterion':
      return `${range.table}.${range.column}${range.operator}${range.value}`;
    case 'pattern':
      return `/${range.pattern}`;
    case 'list':
      return range.items.map(({ sign, range: part }) => sign + textOf(part)).join(',');
  }
}

const counted = ({ prefix, from, to }: { prefix: string; from: number; to: number }): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `${prefix}${from + i}`);

/** All names that stand in a range or follow from it without a look at the cluster. */
export function namesIn(range: Range): string[] {
  if (range.kind === 'node' || range.kind === 'group') return [range.name];
  if (range.kind === 'count') return counted(range);
  return range.kind === 'list' ? range.items.flatMap((item) => namesIn(item.range)) : [];
}

/** The nodes a rule's range means: hidden ones too, and unknown names mean nobody. */
export function meaning(world: World, range: Range): Set<string> {
  const all = nodesIn(world);
  switch (range.kind) {
    case 'node':
      return new Set(all.filter((node) => node === range.name));
    case 'group':
      return new Set(all.includes(range.name) ? [range.name] : membersOf(world, range.name));
    case 'count':
      return new Set(counted(range).filter((name) => all.includes(name)));
    case 'pattern':
      return new Set(all.filter((node) => new RegExp(`^(${range.pattern})$`).test(node)));
    case 'criterion': {
      const { table, column, operator, value } = range;
      return new Set(
        all.filter((node) => {
          const actual = effective(world, table, node)[column] ?? '';
          const found = operator.includes('~') ? new RegExp(value).test(actual) : actual === value;
          return found !== operator.startsWith('!');
        }),
      );
    }
    case 'list': {
      let nodes = new Set<string>();
      const removed = new Set<string>();
      for (const { sign, range: part } of range.items) {
        const found = meaning(world, part);
        if (sign === '@') nodes = nodes.intersection(found);
        else for (const node of found) (sign === '-' ? removed : nodes).add(node);
      }
      return nodes.difference(removed);
    }
  }
}

const unknownNames = ['n199', 'k299', 'h399', 'x1'];
const node = fc.constantFrom(...nodeNames).map((name): Range => ({ kind: 'node', name }));
const unknown = fc.constantFrom(...unknownNames).map((name): Range => ({ kind: 'node', name }));
const group = fc.constantFrom(...groupNames, 'nosuch').map((name): Range => ({ kind: 'group', name }));
const count = fc
  .record({
    form: fc.constantFrom('-' as const, '[]' as const),
    start: fc.constantFrom('n101', 'n102', 'k201', 'h301', 'w601'),
    more: fc.integer({ min: 1, max: 4 }),
  })
  .map(
    ({ form, start, more }): Range => ({
      kind: 'count',
      form,
      prefix: start[0]!,
      from: Number(start.slice(1)),
      to: Number(start.slice(1)) + more,
    }),
  );
const pattern = fc
  .constantFrom('n10.', 'k20[12]', 'h.*', '.*', '[nkw].*1', 'n19.', 'm401|n101', 'w60.', 'y.*')
  .map((text): Range => ({ kind: 'pattern', pattern: text }));
const criterionOf = (...choices: readonly (readonly [table: string, column: string, value: string])[]) =>
  fc
    .record({
      choice: fc.constantFrom(...choices),
      operator: fc.constantFrom('==' as const, '==' as const, '!=' as const, '=~' as const, '!~' as const),
    })
    .map(
      ({ choice: [table, column, value], operator }): Range => ({ kind: 'criterion', table, column, operator, value }),
    );

/** Only by what the twin has alike. */
const keptCriterion = criterionOf(
  ['nodepos', 'room', 'east'],
  ['nodelist', 'groups', 'gamma'],
  ['nodehm', 'mgt', 'ipmi'],
  ['nodehm', 'mgt', 'kvm'],
);
const anyCriterion = criterionOf(
  ['nodepos', 'room', 'west'],
  ['nodepos', 'rack', 'r1'],
  ['nodepos', 'rack', 'r3'],
  ['nodetype', 'arch', 'aarch64'],
  ['nodelist', 'groups', 'dark'],
  ['nodelist', 'hidden', '1'],
  ['nodetype', 'os', 'ca-k201-os'],
  ['nodetype', 'os', 'ca-gamma-os'],
  ['hosts', 'hostnames', 'alias-a-k201'],
  ['ipmi', 'bmc', '127.177.1.1'],
  ['vm', 'host', 'y501'],
  ['vpd', 'uuid', '0000000a-0000-4000-8000-000000000101'],
  ['ipmi', 'password', 's3'],
  ['nosuch', 'column', 'x'],
);

const listOf = (part: fc.Arbitrary<Range>): fc.Arbitrary<Range> =>
  fc
    .record({
      first: part,
      more: fc.array(fc.record({ sign: fc.constantFrom('' as const, '-' as const, '@' as const), range: part }), {
        minLength: 1,
        maxLength: 2,
      }),
    })
    .map(({ first, more }): Range => ({ kind: 'list', items: [{ sign: '', range: first }, ...more] }));

const simpleRule = fc.oneof({ arbitrary: node, weight: 3 }, { arbitrary: group, weight: 5 }, keptCriterion);
export const ruleRange = fc.oneof(
  { arbitrary: simpleRule, weight: 5 },
  { arbitrary: listOf(simpleRule), weight: 3 },
  { arbitrary: fc.oneof(count, pattern), weight: 2 },
);
const simpleRequest = fc.oneof(
  { arbitrary: node, weight: 6 },
  { arbitrary: group, weight: 5 },
  { arbitrary: count, weight: 1 },
  { arbitrary: anyCriterion, weight: 2 },
  { arbitrary: pattern, weight: 1 },
  { arbitrary: unknown, weight: 2 },
);
export const requestRange = fc.oneof(
  { arbitrary: simpleRequest, weight: 3 },
  { arbitrary: listOf(simpleRequest), weight: 2 },
);

/** Whether the range means the same nodes when some of them have other names, if names in it are changed too. */
export const canBeRenamed = (range: Range): boolean =>
  range.kind === 'list'
    ? range.items.every((item) => canBeRenamed(item.range))
    : range.kind !== 'count' && range.kind !== 'pattern';

export function renamed(range: Range, rename: (name: string) => string): Range {
  if (range.kind === 'node') return { ...range, name: rename(range.name) };
  if (range.kind !== 'list') return range;
  return { kind: 'list', items: range.items.map(({ sign, range: part }) => ({ sign, range: renamed(part, rename) })) };
}
