// BIOS settings of nodes beside those that they are to have.
import { texts as actions } from '../texts/actions.ts';
import { foldReasons, mostFirst } from './folds.ts';
import { byName } from './ranges.ts';

const words = actions.biosProfile;

export type Texts = Readonly<Record<string, string>>;

/** What `GET /nodes/{noderange}/bios` says of one node. */
export interface BiosState {
  readonly current?: Texts;
  readonly pending?: Texts;
  /** What settings take, and which of them every machine has of its own; where it was asked for. */
  readonly allowed?: Texts;
  readonly own?: readonly string[];
}

/** A setting that some nodes have otherwise. */
export interface Difference {
  readonly name: string;
  readonly wanted: string;
  /** What nodes will run with after their next restart; undefined: their BIOS has no such setting. */
  readonly found: readonly (readonly [value: string | undefined, names: readonly string[]])[];
}

const nextOf = ({ current = {}, pending = {} }: BiosState): Texts => ({ ...current, ...pending });

/** What can be given to another machine: nothing that each has of its own, and nothing that is not known to be settable. */
export function sharedSettings({ allowed = {}, own = [], ...state }: BiosState): Texts {
  const isShared = ([name]: readonly [string, string]): boolean => Object.hasOwn(allowed, name) && !own.includes(name);
  return Object.fromEntries(Object.entries(nextOf(state)).filter(isShared));
}

export function differencesOf(wanted: Texts, states: ReadonlyMap<string, BiosState>): readonly Difference[] {
  const next = [...states].map(([node, state]) => [node, nextOf(state)] as const);
  const names = Object.keys(wanted).sort(byName);
  return names.flatMap((name): Difference[] => {
    const others = next.filter(([, texts]) => texts[name] !== wanted[name]);
    if (others.length === 0) return [];
    const missing = others.filter(([, texts]) => texts[name] === undefined).map(([node]) => node);
    const values = others.flatMap(([node, texts]) => (texts[name] === undefined ? [] : [[node, texts[name]] as const]));
    const found = [...mostFirst(foldReasons(values)), ...(missing.length > 0 ? [[undefined, missing] as const] : [])];
    return [{ name, wanted: wanted[name]!, found }];
  });
}

/** Reads the section `bios` of a profile in YAML or JSON; throws an error with a sentence about what is wrong. */
export async function readProfile(text: string): Promise<Texts> {
  const top = membersOf(await treeOf(text), words.whole);
  const stranger = top.find(([name]) => name !== 'bios');
  if (stranger) throw new Error(stranger[0] === 'bmc' ? words.ofBmcs : words.noSection(stranger[0]));
  const settings = membersOf(top[0]?.[1], words.section);
  const wrong = settings.find(([, value]) => !['string', 'number', 'boolean'].includes(typeof value));
  if (wrong) throw new Error(words.noValue(wrong[0]));
  if (settings.length === 0) throw new Error(words.empty);
  return Object.fromEntries(settings.map(([name, value]) => [name, String(value)]));
}

async function treeOf(text: string): Promise<unknown> {
  try {
    if (text.trimStart().startsWith('{')) return JSON.parse(text) as unknown;
    const { parse } = await import('yaml');
    // Every value is the text that was written, as in profiles on the command line.
    return parse(text, { schema: 'failsafe', maxAliasCount: 0 }) as unknown;
  } catch (error) {
    const [first] = (error as Error).message.split('\n', 1);
    throw new Error(words.unreadable(first!.replace(/[.:]$/, '')), { cause: error });
  }
}

function membersOf(value: unknown, what: string): [name: string, value: unknown][] {
  if (value === '' || value === null || value === undefined) return [];
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(words.noNames(what));
  return Object.entries(value);
}
