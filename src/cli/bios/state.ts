import type { Client } from '../client.ts';
import { path } from '../client.ts';
import { Refused, UsageError } from '../errors.ts';
import { bmcSettings, type Texts } from './profile.ts';

/** What the server answers of the BIOS of a node. */
export interface BiosState {
  readonly current?: Texts;
  readonly pending?: Texts;
  readonly notes?: readonly string[];
  /** What settings take, and which of them every machine has of its own; only where it was asked for. */
  readonly allowed?: Texts;
  readonly own?: readonly string[];
}

/** What a machine will run with once it has restarted. */
export const nextOf = ({ current = {}, pending = {} }: BiosState): Texts => ({ ...current, ...pending });

/** The settings of one node; undefined where it has no registry that says what they take. */
export async function detailedState(client: Client, node: string): Promise<BiosState> {
  const all = (await client.get(path('nodes', node, 'bios'), { query: { allowed: '1' } })) as Record<string, BiosState>;
  const [state, ...more] = Object.values(all);
  if (!state || more.length > 0) throw new UsageError(`"${node}" is ${Object.keys(all).length} nodes; name one.`);
  return state;
}

/** The same, or nothing of a node whose driver knows no BIOS: its BMC may have settings nevertheless. */
export async function stateIfAny(client: Client, node: string): Promise<BiosState> {
  try {
    return await detailedState(client, node);
  } catch (error) {
    if (error instanceof Refused && (await hasNoBios(client, node))) return {};
    throw error;
  }
}

/** Lines of results say it in words that stay the same. */
async function hasNoBios(client: Client, node: string): Promise<boolean> {
  const { lines } = await client.stream('GET', path('nodes', node, 'bios'), {});
  const [found, ...more] = (await Array.fromAsync(lines)).filter((line) => line.node !== undefined);
  const reference = found?.['reference'];
  return more.length === 0 && typeof reference === 'string' && reference.startsWith('Unable to identify plugin');
}

/** The same of a node whose BMC may not say what settings take. */
export async function referenceState(client: Client, node: string): Promise<BiosState> {
  try {
    return await detailedState(client, node);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const all = (await client.get(path('nodes', node, 'bios'))) as Record<string, BiosState>;
    return Object.values(all)[0] ?? {};
  }
}

/** What can be given to another machine. */
export function sharedSettings({ current = {}, pending = {}, allowed = {}, own = [] }: BiosState): Texts {
  const next = nextOf({ current, pending });
  return Object.fromEntries(
    Object.entries(next).filter(([name]) => Object.hasOwn(allowed, name) && !own.includes(name)),
  );
}

/** Settings of BMCs by node, of those names that each reports. */
export async function bmcStates(
  client: Client,
  range: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, Texts>> {
  const found = new Map<string, Record<string, string>>();
  for (const name of names) {
    const { lines } = await client.stream('GET', path('nodes', range, 'sp', name), {});
    for await (const { node, value, error } of lines) {
      if (node === undefined || error !== undefined) continue;
      const values = found.get(node) ?? {};
      values[name] = bmcValue(value);
      found.set(node, values);
    }
  }
  return found;
}

/** Those that can be given to another BMC as they are; what is not set cannot. */
export async function savedBmc(client: Client, node: string): Promise<Texts> {
  const [found = {}] = (await bmcStates(client, node, bmcSettings)).values();
  return Object.fromEntries(Object.entries(found).filter(([name, value]) => isSettable(name, value)));
}

/** A bit rate may be shown in words: that of the serial port. */
const isSettable = (name: string, value: string): boolean =>
  value !== '' && (name !== 'solbitrate' || /^\d+$/.test(value));

/** As it is set: labels are for people. */
function bmcValue(value: unknown): string {
  const entries = Object.entries((value ?? {}) as Record<string, string | readonly string[]>);
  const text = entries.flatMap(([, texts]) => texts).join(',');
  if (text === 'BMC VLAN disabled') return 'off';
  return text === 'None' ? '' : text;
}

/** What of some settings is otherwise, one line each: `NAME: VALUE, WHOSE has OTHER`. */
export function differences(
  here: Texts,
  there: Texts,
  names: Iterable<string>,
  say: (value: string | undefined, other: string | undefined) => string,
): string[] {
  return [...names].sort().flatMap((name) => {
    const [value, other] = [here[name], there[name]];
    return value === other ? [] : [`${name}: ${say(value, other)}`];
  });
}
