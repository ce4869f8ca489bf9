import { bmcStates, differences, nextOf, referenceState, savedBmc, sharedSettings, stateIfAny } from '../bios/state.ts';
import type { BiosState } from '../bios/state.ts';
import { isEmpty, type Profile, profileText, readProfile, type Texts } from '../bios/profile.ts';
import { path } from '../client.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { tryOnly } from '../muster/row-diff.ts';
import { codeOf } from '../nodes/node-command.ts';
import { type NodeReport, type NodeRequest, workOnNodes } from '../nodes/work.ts';
import { filled, flag } from '../options.ts';
import { textOfFile } from '../utf8.ts';

const wrongCall =
  'Say what to do: get, pending, set, reset or diff NODERANGE, save NODE, or apply FILE NODERANGE; muster bios -h explains them.';

/** What a word does, with how many more words it takes, and the options that mean something to it. */
interface Act {
  readonly words: readonly [least: number, most: number];
  readonly options?: readonly string[];
  run(invocation: Invocation, call: Call, words: readonly string[]): Promise<number>;
}

const acts: Readonly<Record<string, Act>> = {
  get: { words: [1, 1_000], options: ['allowed'], run: get },
  pending: {
    words: [1, 1],
    run: (invocation, call, [range = '']) =>
      work(invocation, call, { method: 'GET', at: path('nodes', range, 'bios') }, { range, lines: pendingLines }),
  },
  set: { words: [2, 2_000], options: ['now'], run: set },
  reset: {
    words: [1, 1],
    run: (invocation, call, [range = '']) =>
      work(
        invocation,
        call,
        { method: 'POST', at: path('nodes', range, 'bios'), body: { action: 'reset' } },
        { range, lines: notesOf, question: 'Reset the BIOS settings of' },
      ),
  },
  diff: { words: [1, 1], options: ['against', 'all'], run: diff },
  save: { words: [1, 1], run: save },
  apply: { words: [2, 2], options: ['now'], run: apply },
};

export const bios = musterCommand({
  usage: `Usage: muster bios get NODERANGE [NAME...] [--allowed]
       muster bios pending NODERANGE
       muster bios set NODERANGE NAME=VALUE... [--now]
       muster bios reset NODERANGE
       muster bios diff NODERANGE --against NODE [--all]
       muster bios save NODE > FILE
       muster bios apply FILE NODERANGE [--now] [--dry-run]

Reads and changes BIOS settings by Redfish. Changes take effect when a machine restarts; pending shows what waits for that. Values are
checked before anything is sent. diff shows which nodes differ from another in what. save writes the settings of a node to standard
output as a profile; apply gives nodes the settings of a profile, and with --dry-run shows what it would change.`,
  options: {
    allowed: flag('with get: show what each setting takes'),
    now: flag('with set and apply: change settings at once, where the BIOS can'),
    against: filled('NODE', 'with diff: the node to compare with'),
    all: flag('with diff: also settings that every machine has of its own, such as its asset tag'),
  },
  operands: [2, Number.POSITIVE_INFINITY, wrongCall],
  common: onNodes,
  triesItself: true,
  run(invocation, call) {
    const [word = '', ...words] = call.operands;
    const act = Object.hasOwn(acts, word) ? acts[word] : undefined;
    if (!act || words.length < act.words[0] || words.length > act.words[1] || words.includes(''))
      throw new UsageError(wrongCall);
    const stranger = ['allowed', 'now', 'against', 'all'].find(
      (name) => call.has(name) && !act.options?.includes(name),
    );
    if (stranger !== undefined) throw new UsageError(`--${stranger} means nothing to muster bios ${word}.`);
    const carryOut = (): Promise<number> => act.run(invocation, call, words);
    return call.common.dryRun && word !== 'apply' ? tryOnly(invocation, carryOut) : carryOut();
  },
});

const work = async (invocation: Invocation, call: Call, request: NodeRequest, report: NodeReport): Promise<number> =>
  codeOf(await workOnNodes(invocation, request, report, call.common));

const stateIn = (value: unknown): BiosState => value ?? {};
const notesOf = (value: unknown): readonly string[] => stateIn(value).notes ?? [];

function stateLines(value: unknown): readonly string[] {
  const { current = {}, pending = {}, allowed = {}, notes = [] } = stateIn(value);
  const lines = Object.entries(current).map(([name, text]) => {
    const next = pending[name] === undefined ? '' : ` (${pending[name]} after the next restart)`;
    const takes = allowed[name] === undefined ? '' : `; takes ${allowed[name]}`;
    return `${name}=${text}${next}${takes}`;
  });
  return [...lines, ...notes];
}

function pendingLines(value: unknown): readonly string[] {
  const { pending = {}, notes = [] } = stateIn(value);
  const lines = Object.entries(pending).map(([name, text]) => `${name}=${text}`);
  return lines.length + notes.length === 0 ? ['nothing waits for a restart'] : [...lines, ...notes];
}

/** What was set, and when it counts. */
function setLines(value: unknown): readonly string[] {
  const { current = {}, pending = {}, notes = [] } = stateIn(value);
  const lines = Object.entries({ ...current, ...pending }).map(([name, text]) =>
    Object.hasOwn(pending, name) ? `${name}=${text} waits for the next restart` : `${name}=${text}`,
  );
  return [...lines, ...notes];
}

function get(invocation: Invocation, call: Call, [range = '', ...names]: readonly string[]): Promise<number> {
  const at = path('nodes', range, 'bios', ...(names.length > 0 ? [names.join(',')] : []));
  const query = call.flag('allowed') ? { allowed: '1' } : {};
  return work(invocation, call, { method: 'GET', at, query }, { range, lines: stateLines });
}

const putRequest = (range: string, settings: Texts, now: boolean): NodeRequest => ({
  method: 'PUT',
  at: path('nodes', range, 'bios'),
  body: { settings, ...(now ? { when: 'now' } : {}) },
});

const question = 'Change BIOS settings of';

function set(invocation: Invocation, call: Call, [range = '', ...words]: readonly string[]): Promise<number> {
  const settings = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw new UsageError(`"${word}" sets nothing; write NAME=VALUE.`);
    const [name, value] = [word.slice(0, at), word.slice(at + 1)];
    if ((settings.get(name) ?? value) !== value)
      throw new UsageError(`${name}= was given twice; give it once. Nothing was changed.`);
    settings.set(name, value);
  }
  const request = putRequest(range, Object.fromEntries(settings), call.flag('now'));
  return work(invocation, call, request, { range, lines: setLines, question });
}

/** Equal differences are shown once, under the names of all nodes that have them. */
const folding = (call: Call): Call => ({ ...call, common: { ...call.common, fold: call.common.format === undefined } });

async function diff(invocation: Invocation, call: Call, [range = '']: readonly string[]): Promise<number> {
  const other = call.value('against');
  if (other === undefined) throw new UsageError('Name the node to compare with: --against NODE.');
  const reference = await referenceState(invocation.client, other);
  const there = nextOf(reference);
  const left = new Set(call.flag('all') ? [] : reference.own);
  const lines = (value: unknown): readonly string[] => {
    const here = nextOf(stateIn(value));
    const names = [...new Set([...Object.keys(there), ...Object.keys(here)])].filter((name) => !left.has(name));
    const said = (text: string | undefined): string => text ?? 'no such setting';
    const found = differences(here, there, names, (a, b) => `${said(a)}, ${other} has ${said(b)}`);
    return found.length === 0 ? [`as ${other}`] : found;
  };
  const report = { range, lines, data: (value: unknown) => lines(value) };
  return work(invocation, folding(call), { method: 'GET', at: path('nodes', range, 'bios') }, report);
}

async function save({ client, stdout }: Invocation, _call: Call, [node = '']: readonly string[]): Promise<number> {
  const state = await stateIfAny(client, node);
  await stdout.write(await profileText({ bios: sharedSettings(state), bmc: await savedBmc(client, node) }));
  return 0;
}

async function apply(invocation: Invocation, call: Call, [file = '', range = '']: readonly string[]): Promise<number> {
  const text = file === '-' ? await invocation.stdin.text() : textOfFile(file);
  const profile = await readProfile(text, file === '-' ? 'standard input' : file);
  if (call.common.dryRun) return showPlan(invocation, call, profile, range);
  const [first] = Object.keys(profile.bmc);
  let code = 0;
  if (!isEmpty(profile.bios)) {
    const request = putRequest(range, profile.bios, call.flag('now'));
    code = await work(invocation, call, request, { range, lines: setLines, question });
  }
  if (first === undefined || code !== 0) return code;
  const lines = (value: unknown): readonly string[] => [
    ...Object.values((value ?? {}) as Record<string, string | readonly string[]>).flat(),
    `Set ${Object.keys(profile.bmc).join(', ')} of the BMC succeeded.`,
  ];
  const request = { method: 'PUT', at: path('nodes', range, 'sp', first), body: profile.bmc } as const;
  return work(invocation, call, request, { range, lines, question: 'Change settings of the BMCs of' });
}

/** What a profile would change, folded; nothing is sent. */
async function showPlan(
  invocation: Invocation,
  call: Call,
  { bios: wanted, bmc }: Profile,
  range: string,
): Promise<number> {
  const names = Object.keys(bmc);
  const bmcs = await bmcStates(invocation.client, range, names);
  const said = (text: string | undefined): string => text || (text === undefined ? 'not reported' : '(empty)');
  const change = (now: string | undefined, then: string | undefined): string => `${said(now)} -> ${said(then)}`;
  const lines = (value: unknown, node: string): readonly string[] => {
    const next = isEmpty(wanted) ? {} : nextOf(stateIn(value));
    const found = [
      ...differences(next, wanted, Object.keys(wanted), change),
      ...differences(bmcs.get(node) ?? {}, bmc, names, change).map((line) => `bmc ${line}`),
    ];
    return found.length === 0 ? ['nothing would change'] : found;
  };
  const shown = { ...call, common: { ...folding(call).common, dryRun: false } };
  // BMCs without anything to say of a BIOS can take the other section.
  const at = isEmpty(wanted) ? path('nodes', range, 'sp', names[0]!) : path('nodes', range, 'bios');
  return work(invocation, shown, { method: 'GET', at }, { range, lines });
}
