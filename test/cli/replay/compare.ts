import { tables } from '../../../src/database/tables.ts';
import {
  type Argv,
  type Case,
  casesOf,
  type Comparison,
  type Effects,
  elsewhere,
  type FileChanges,
  type Outcome,
  type Row,
} from './cases.ts';

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** What placeholders of recorded texts stand for. */
const forms: readonly [placeholder: RegExp, form: string][] = [
  [/<time>/g, String.raw`\d{2}-\d{2}-\d{4} \d{2}:\d{2}:\d{2}`],
  [/<year>/g, String.raw`\d{4}`],
  [/<pid>/g, String.raw`\d+`],
  [/<uuid>/g, String.raw`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`],
  [/<(?:key|mountpoint|reason|text)>/g, '.+'],
  // What the reference system picks a plug-in by; muster may name its own.
  [/check relevant tables: [^\n]+/g, 'check relevant tables: .+'],
  // These belong to the stand-ins for hardware, and to when they were started.
  [/UUID\/GUID: [0-9A-F-]{36}/g, 'UUID/GUID: [0-9A-F-]{36}'],
  [/BMC Uptime +\d+ s/g, String.raw`BMC Uptime +\d+ s`],
  // Which version it is says nothing about the command.
  [/Version 2\\\.19\\\.0/g, String.raw`Version \d+(?:\.\d+)+`],
];

/** Whether the text is what the recorded one stands for. */
export function agrees(expected: string, text: string): boolean {
  if (expected === text) return true;
  let pattern = escaped(expected);
  for (const [placeholder, form] of forms) pattern = pattern.replaceAll(placeholder, form);
  return pattern !== escaped(expected) && new RegExp(`^${pattern}$`).test(text);
}

/** Whether each of the expected items has one of its own among the others, and none is left over. */
function pairUp<Expected, Given>(
  expected: readonly Expected[],
  given: readonly Given[],
  same: (a: Expected, b: Given) => boolean,
): boolean {
  const left = [...given];
  return (
    expected.every((each) => {
      const index = left.findIndex((other) => same(each, other));
      if (index < 0) return false;
      left.splice(index, 1);
      return true;
    }) && left.length === 0
  );
}

const sortedMembers = (text: string): string =>
  text.replaceAll(
    /^(\s*members=)(.*)$/gm,
    (_line, label: string, names: string) => label + names.split(',').sort().join(','),
  );

/** What stands at the start of a line and says what the rest is about. */
const lineKey = (line: string): string => /^[^:=]*[:=]/.exec(line)?.[0] ?? '';

const streamRules: Readonly<Record<Comparison | 'exact', (expected: string, text: string) => boolean>> = {
  exact: agrees,
  lines: (expected, text) =>
    text.endsWith('\n') === expected.endsWith('\n') && pairUp(expected.split('\n'), text.split('\n'), agrees),
  members: (expected, text) => agrees(sortedMembers(expected), sortedMembers(text)),
  usage(expected, text) {
    if (!expected.includes('<usage>')) return agrees(expected, text);
    const [before = '', behind = ''] = expected.split('<usage>\n');
    return text.startsWith(before) && text.endsWith(behind) && text.length > before.length + behind.length;
  },
  shape(expected, text) {
    const [wanted, found] = [expected.split('\n'), text.split('\n')];
    return wanted.length === found.length && wanted.every((line, i) => lineKey(line) === lineKey(found[i]!));
  },
  code: (expected, text) => (expected === '') === (text === ''),
};

/**
 * Where the reference system drops a word in silence, or leaves nodes with the old name of what was renamed, muster does the same and says
 * so on standard error. Below some errors in the words of the reference system muster says what to use instead. Nothing like these lines was
 * recorded.
 */
const ownWarnings: readonly RegExp[] = [
  /^Warning: .+ is ignored: .+\.\n/gm,
  /^Note: .+\.\n/gm,
  /^Warning: \[mn\]: .+ keeps? \S+ in (?:groups|provmethod)\. To change that, run chdef .+\.\n/gm,
];

const withoutOwnWarnings = (outcome: Outcome): Outcome => ({
  ...outcome,
  stderr: ownWarnings.reduce((text, line) => text.replaceAll(line, ''), outcome.stderr),
});

function outcomeMismatch(rule: Comparison | 'exact', expected: Outcome, outcome: Outcome): string | undefined {
  const given = withoutOwnWarnings(outcome);
  const wrong = (['stdout', 'stderr'] as const).filter((stream) => !streamRules[rule](expected[stream], given[stream]));
  if (wrong.length === 0 && expected.code === given.code) return undefined;
  const show = ({ stdout, stderr, code }: Outcome): string =>
    `  stdout ${JSON.stringify(stdout)}\n  stderr ${JSON.stringify(stderr)}\n  code   ${code}`;
  const told = [...wrong, ...(expected.code === given.code ? [] : ['code'])].join(', ');
  return `${told} (compared: ${rule})\nexpected\n${show(expected)}\ngot\n${show(given)}`;
}

/** How what is asked afterwards is compared: rows, members and columns of nodes come in no fixed order. */
const afterRule = ([command]: readonly string[]): Comparison | 'exact' =>
  command === 'tabdump' || command === 'nodels' ? 'lines' : 'members';

/** Tables that the reference system does not have: nothing was recorded of them. */
const listing = casesOf('tables').find(({ argv }) => argv.join(' ') === 'tabdump')!;
const ownTables = new Set([...tables.keys()].filter((name) => !listing.stdout.split('\n').includes(name)));

const withoutOwnTables = (argv: Argv, outcome: Effects): Effects => {
  if (argv.join(' ') !== 'tabdump') return outcome;
  const names = outcome.stdout.split('\n').filter((name) => !ownTables.has(name));
  return { ...outcome, stdout: names.join('\n') };
};

const rowAgrees = (secret: ReadonlySet<string>, expected: Row, given: Row): boolean =>
  [...new Set([...Object.keys(expected), ...Object.keys(given)])].every((column) => {
    const [wanted = '', found = ''] = [expected[column], given[column]];
    return secret.has(column) ? (wanted === '') === (found === '') : agrees(wanted, found);
  });

function tableMismatches(recorded: Case, given: Effects): string[] {
  // The reference system's old rows of these depend on what was run before.
  const onlyAdded = ['rpower', 'rinstall', 'rnetboot'].includes(recorded.argv[0]!);
  const names = new Set([...Object.keys(recorded.tables ?? {}), ...Object.keys(given.tables ?? {})]);
  return [...names]
    .filter((name) => !ownTables.has(name))
    .flatMap((name) => {
      const [expected = {}, found = {}] = [recorded.tables?.[name], given.tables?.[name]];
      const secret = tables.get(name)?.secret ?? new Set();
      const kinds = onlyAdded ? (['added'] as const) : (['removed', 'added'] as const);
      return kinds
        .filter((kind) => !pairUp(expected[kind] ?? [], found[kind] ?? [], (a, b) => rowAgrees(secret, a, b)))
        .map(
          (kind) =>
            `table ${name}, ${kind}\nexpected ${JSON.stringify(expected[kind] ?? [])}\ngot      ${JSON.stringify(found[kind] ?? [])}`,
        );
    });
}

const compared = (path: string): boolean => !elsewhere.some(({ below }) => path.startsWith(below));

/** What the hosts file has of nodes that are no more goes with them, and soon after. */
const removesNodes = ([command, ...words]: Case['argv']): boolean =>
  ['rmdef', 'noderm', 'nodepurge'].includes(command!) || (command === 'chdef' && words.includes('-n'));

function fileMismatches({ argv, files: expected = {} }: Case, given: FileChanges = {}): string[] {
  const paths = [...new Set([...Object.keys(expected), ...Object.keys(given)])]
    .filter(compared)
    .filter((path) => path !== '/etc/hosts' || !removesNodes(argv));
  return paths.flatMap((path) => {
    const [wanted, found] = [expected[path], given[path]];
    const free = wanted === '<changed>' || wanted === '<copy>';
    const same =
      free || wanted == null || found == null
        ? (wanted === undefined) === (found === undefined) && (wanted === null) === (found === null)
        : agrees(wanted, found);
    return same ? [] : [`file ${path}\nexpected ${JSON.stringify(wanted)}\ngot      ${JSON.stringify(found)}`];
  });
}

/** How what came of the command differs from what is expected; undefined if it does not. */
export function mismatch(expected: Case, given: Effects): string | undefined {
  const after = (expected.after ?? []).flatMap((each, index) => {
    const wrong = outcomeMismatch(afterRule(each.argv), each, given.after![index]!);
    return wrong === undefined ? [] : [`after, ${each.argv.join(' ')}: ${wrong}`];
  });
  const wrong = [
    outcomeMismatch(expected.compare ?? 'exact', expected, withoutOwnTables(expected.argv, given)),
    ...tableMismatches(expected, given),
    ...fileMismatches(expected, given.files),
    ...after,
  ].filter((each) => each !== undefined);
  return wrong.length === 0 ? undefined : `${expected.argv.join(' ')}\n${wrong.join('\n')}`;
}
