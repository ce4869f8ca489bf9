import * as fc from 'fast-check';
import { meaning, type Range, ruleRange, textOf } from './ranges.ts';
import type { World } from './state.ts';

/** A row of the policy for the account that is tried. */
export interface Rule {
  readonly name: string;
  /** Undefined: all commands. */
  readonly commands?: readonly string[] | undefined;
  readonly range?: Range | undefined;
  readonly parameters?: Parameters | undefined;
  readonly host?: string | undefined;
  readonly time?: string | undefined;
  readonly rule: string;
}

/** A pattern, and the attributes it names. */
export interface Parameters {
  readonly pattern: string;
  readonly speaksOf: readonly string[];
}

/** What is asked: a command with its arguments. */
export interface Asked {
  readonly command: string;
  readonly line: string;
}

export const account = 'op';
const readers = ['getAttribs', 'getTablesAllNodeAttribs', 'getTablesAllRowAttribs', 'getTablesNodesAttribs'];
const writers = ['setAttribs', 'setNodesAttribs', 'delEntries'];
const permitting = ['allow', 'accept', 'trusted'];

export const permits = ({ rule }: Rule): boolean => permitting.includes(rule.toLowerCase());

function fits(rule: Rule, { command, line }: Asked): boolean {
  if (rule.name !== '' && rule.name !== '*' && rule.name !== account) return false;
  const alias = readers.includes(command) ? 'tabdump' : writers.includes(command) ? 'tabch' : command;
  if (rule.commands && !rule.commands.includes(command) && !rule.commands.includes(alias)) return false;
  if (rule.host !== undefined && rule.host !== '127.0.0.1') return false;
  // A time that nobody can read makes a rule that permits never count, and one that refuses always.
  if (rule.time === 'whenever' && permits(rule)) return false;
  return rule.parameters === undefined || new RegExp(rule.parameters.pattern).test(line);
}

/** The rules in the order of their priorities, and the cluster as it was when the policy was asked. */
export interface Policy {
  readonly rules: readonly Rule[];
  readonly world: World;
  /** What the token is limited to, as a rule that allows nothing more. */
  readonly limit?: Rule | undefined;
}

/** Whether the limit of the token, if it has one, lets it do what the rules allow. */
const inside = ({ limit, world }: Policy, may: (policy: Policy) => boolean): boolean =>
  limit === undefined || may({ rules: [limit], world });

const covers = (world: World, { range }: Rule, node: string): boolean =>
  range === undefined || meaning(world, range).has(node);

/** The first rule that fits decides; none refuses. */
function decide(rules: readonly Rule[], asked: Asked, reaches: (rule: Rule) => boolean): boolean {
  const rule = rules.find((each) => fits(each, asked) && reaches(each));
  return rule !== undefined && permits(rule);
}

export const mayOn = (policy: Policy, asked: Asked, node: string): boolean =>
  inside(policy, (limit) => mayOn(limit, asked, node)) &&
  decide(policy.rules, asked, (rule) => covers(policy.world, rule, node));

/** For what is about no node in particular, rules for some nodes say nothing. */
export const mayAtAll = (policy: Policy, asked: Asked): boolean =>
  inside(policy, (limit) => mayAtAll(limit, asked)) && decide(policy.rules, asked, ({ range }) => range === undefined);

/** For what is about all nodes at once, rules that refuse it on some refuse it. */
export const mayEverywhere = (policy: Policy, asked: Asked): boolean =>
  inside(policy, (limit) => mayEverywhere(limit, asked)) &&
  decide(
    policy.rules,
    asked,
    (rule) => rule.range === undefined || (!permits(rule) && meaning(policy.world, rule.range).size > 0),
  );

/** What decides trust is covered by rules for all nodes, and by those whose parameters name it. */
export function mayDecideTrust(policy: Policy, asked: Asked, attributes: readonly string[], node: string): boolean {
  if (!inside(policy, (limit) => mayDecideTrust(limit, asked, attributes, node))) return false;
  const { rules, world } = policy;
  const counting = rules.filter(
    (rule) =>
      !permits(rule) || rule.range === undefined || attributes.some((name) => rule.parameters?.speaksOf.includes(name)),
  );
  return mayOn({ rules: counting, world }, asked, node);
}

/** Whether some rule could let the account do anything at all on the node. */
export const mayAnythingOn = (policy: Policy, node: string): boolean =>
  inside(policy, (limit) => mayAnythingOn(limit, node)) &&
  policy.rules.some((rule) => permits(rule) && covers(policy.world, rule, node));

/** Whether some rule could let the account run the command. */
export const mayRun = (policy: Pick<Policy, 'rules' | 'limit'>, command: string): boolean =>
  (policy.limit === undefined || mayRun({ rules: [policy.limit] }, command)) &&
  policy.rules.some((rule) => permits(rule) && fits({ ...rule, parameters: undefined }, { command, line: '' }));

const commandGroups: readonly (readonly string[])[] = [
  ['lsdef', 'nodels'],
  ['lsdef', 'nodels', 'tabdump'],
  ['chdef', 'tabch'],
  ['chdef', 'mkdef', 'rmdef'],
  ['lsdef', 'chdef', 'mkdef', 'rmdef', 'tabch', 'tabdump', 'nodels'],
  ['rpower', 'rvitals', 'rinv', 'reventlog', 'rspconfig', 'rsetboot', 'rbeacon', 'renergy', 'rbootseq', 'rscan'],
  ['rspconfig', 'bmcaccounts', 'bmcrotate', 'bmccertificates', 'bmccertify'],
  ['rbios', 'rpower', 'lsdef'],
  ['rpower', 'lsoutlets'],
  ['rbios', 'posture', 'lsdef'],
  ['rflash', 'rinv'],
  ['rmedia', 'rinv'],
  ['setpowerbudget', 'rmpowerbudget', 'lspowerbudget', 'renergy'],
  ['xdsh', 'xdcp', 'updatenode', 'nodestat'],
  ['lsdef', 'xdsh'],
  ['makehosts', 'makedns', 'makedhcp'],
  [
    'lsdef',
    'chdef',
    'mkdef',
    'rmdef',
    'rpower',
    'nodels',
    'tabch',
    'tabdump',
    'rspconfig',
    'xdsh',
    'makehosts',
    'makedns',
    'makedhcp',
    'nodestat',
  ],
  ['lspolicy'],
  ['lsservers', 'rmserver'],
  ['nodech', 'nodeadd', 'nodegrpch', 'tabrestore', 'tabgrep', 'tabprune'],
  ['lschanges', 'revert'],
  ['lsdef', 'nodels', 'chdef', 'mkdef', 'rmdef', 'tabch', 'lschanges', 'revert'],
  ['mkvm', 'chvm', 'rmvm', 'clonevm', 'rmigrate', 'snapvm', 'rscan', 'rpower'],
  ['lsdef', 'rmigrate', 'clonevm', 'rscan'],
  ['nodeset', 'rinstall', 'lsboot', 'rbootseq', 'rsetboot', 'lsanswers', 'lsoverlay', 'sendoverlay'],
  ['lsdef', 'nodeset', 'lsboot', 'events', 'sd'],
  ['copycds', 'imgpull', 'imgimport', 'imgexport', 'genimage', 'packimage', 'imgrun', 'rollbackimage', 'rmimage'],
  ['lsimage', 'genimage', 'lsdef', 'chdef', 'mkdef', 'rmdef'],
  ['events'],
  ['events', 'chdef', 'nodeset', 'lschanges', 'revert'],
  ['nodediscoverls', 'nodediscoverstart', 'nodediscoverstop'],
  ['lsdef', 'snmove', 'updatenode'],
];
const writing = ['chdef', 'mkdef', 'setNodesAttribs'];

const speaking = (...speaksOf: string[]): Parameters => ({ pattern: `\\b(${speaksOf.join('|')})=`, speaksOf });
const parameters = fc.constantFrom<Parameters>(
  speaking('bmc', 'bmcport', 'mgt'),
  speaking('ip', 'mac', 'hostnames'),
  speaking('groups', 'members', 'wherevals', 'grouptype'),
  speaking('postscripts'),
  speaking('uuid', 'serial', 'vmhost'),
  { pattern: 'rack=', speaksOf: [] },
  { pattern: '.', speaksOf: [] },
);

/** A master of virtual machines that somebody else has made. */
const ofMaster: Parameters = { pattern: '-b gold\\b', speaksOf: ['gold'] };

const seldom = <T>(arbitrary: fc.Arbitrary<T>, otherwise: T): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(otherwise), weight: 9 }, { arbitrary, weight: 1 });

const host = seldom<string | undefined>(fc.constantFrom('127.0.0.1', '10.99.0.1'), undefined);
const time = seldom<string | undefined>(fc.constantFrom('*', 'whenever'), undefined);
const name = seldom(fc.constantFrom('*', '', 'somebody'), account);

const allowing: fc.Arbitrary<Rule> = fc
  .record({ name, host, time, range: ruleRange, rule: seldom(fc.constantFrom('accept', 'trusted', 'Allow'), 'allow') })
  .chain((rest) =>
    fc.oneof(
      { arbitrary: fc.constantFrom(...commandGroups).map((commands): Rule => ({ ...rest, commands })), weight: 6 },
      {
        arbitrary: fc.record({ parameters }).map((more): Rule => ({ ...rest, ...more, commands: writing })),
        weight: 3,
      },
      { arbitrary: fc.constant<Rule>({ ...rest, parameters: ofMaster, commands: ['clonevm'] }), weight: 1 },
      { arbitrary: fc.constant<Rule>(rest), weight: 1 },
    ),
  );
/** For every node; never for every command, so that nobody gets full rights. */
const broad: fc.Arbitrary<Rule> = fc
  .record({ name, commands: fc.constantFrom(...commandGroups), host, time })
  .map((rest) => ({ ...rest, rule: 'allow' }));
const refusing: fc.Arbitrary<Rule> = fc.record({
  name,
  commands: fc.option(fc.constantFrom(...commandGroups), { nil: undefined }),
  range: fc.option(ruleRange, { nil: undefined, freq: 5 }),
  host,
  time,
  parameters: seldom<Parameters | undefined>(parameters, undefined),
  rule: seldom(fc.constantFrom('disallow', 'never', ''), 'deny'),
});

/** The rules of an account: mostly such that it has some nodes. */
export const ruleSet: fc.Arbitrary<readonly Rule[]> = fc.oneof(
  { arbitrary: fc.array(allowing, { minLength: 1, maxLength: 3 }), weight: 6 },
  {
    arbitrary: fc
      .tuple(
        fc.array(refusing, { minLength: 1, maxLength: 2 }),
        fc.array(fc.oneof(allowing, broad), { minLength: 1, maxLength: 2 }),
      )
      .map(([refused, allowed]) => [...refused, ...allowed]),
    weight: 3,
  },
  { arbitrary: fc.array(fc.oneof(allowing, broad, refusing), { maxLength: 4 }), weight: 1 },
);

/** As the policy's table stores it. */
export const rowOfRule = (rule: Rule): Record<string, string> => ({
  name: rule.name,
  rule: rule.rule,
  ...(rule.commands && { commands: rule.commands.join(',') }),
  ...(rule.range && { noderange: textOf(rule.range) }),
  ...(rule.parameters && { parameters: rule.parameters.pattern }),
  ...(rule.host !== undefined && { host: rule.host }),
  ...(rule.time !== undefined && { time: rule.time }),
});

/** What a token can be limited to: commands, nodes or both. */
export const limits: fc.Arbitrary<Rule> = fc
  .record({
    commands: fc.option(
      fc
        .array(fc.constantFrom(...commandGroups), { minLength: 1, maxLength: 3 })
        .map((groups) => [...new Set(groups.flat())]),
      { nil: undefined, freq: 3 },
    ),
    range: fc.option(ruleRange, { nil: undefined, freq: 3 }),
  })
  .filter(({ commands, range }) => commands !== undefined || range !== undefined)
  .map((limited) => ({ name: account, rule: 'allow', ...limited }));
