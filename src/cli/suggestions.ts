import { nearest } from '../core/nearest.ts';
import { type Client, type Mistake, path } from './client.ts';
import type { Output } from './output.ts';

const mostNames = 5;

/**
 * Says what may have been meant by names that nothing has: nodes, groups, images, other objects, attributes, columns. The names come
 * from the server, which shows a caller only those of theirs. `isMuster`: the command has printed what the server says of attributes.
 */
export async function suggest(
  { client, stderr }: { readonly client: Client; readonly stderr: Output },
  isMuster: boolean,
): Promise<void> {
  const said = new Set<string>();
  for (const mistake of client.mistakes) {
    if (isMuster && mistake.kind !== 'unknown-object') continue;
    const known = await namesFor(client, mistake);
    for (const name of mistake.names.slice(0, mostNames)) {
      const meant = nearest(name, known);
      if (meant === undefined || meant === name || said.has(name)) continue;
      said.add(name);
      stderr.line(`There is no ${name}. Did you mean ${meant}?`);
    }
  }
}

/** What lskmodules looks into. */
const modulesOf = ['osimage', 'kitcomponent', 'osdistro', 'osdistroupdate'];

/** All names of the kind that was looked for. */
async function namesFor(client: Client, { kind, at, types, names }: Mistake): Promise<string[]> {
  const [, root = '', first = '', ...more] = at.split('/').map(decodeURIComponent);
  const isUnknown = kind === 'unknown-object';
  switch (root) {
    case 'nodes':
      if (isUnknown) return [...(await list(client, '/groups')), ...(await list(client, '/nodes'))];
      return more[0] === 'columns' ? columns(client, names) : list(client, '/osimages');
    case 'groups':
      return isUnknown ? list(client, '/groups') : columns(client, names);
    case 'osimages':
      return list(client, '/osimages');
    case 'services':
      return first === 'kmodules'
        ? (await Promise.all(modulesOf.map((type) => list(client, path('definitions', type))))).flat()
        : [];
    case 'tables':
      return isUnknown ? list(client, '/tables') : columns(client, names);
    case 'definitions': {
      const [type = 'node'] = first === '' ? types : [first];
      if (!isUnknown) return list(client, path('attributes', type), type);
      if (type === 'node') return [...(await list(client, '/groups')), ...(await list(client, '/nodes'))];
      return list(client, path('definitions', type));
    }
    default:
      return [];
  }
}

/** TABLE.COLUMN of the tables that were named, or that may have been meant. */
async function columns(client: Client, names: readonly string[]): Promise<string[]> {
  const tables = await list(client, '/tables');
  const found: string[] = [];
  for (const name of names.slice(0, mostNames)) {
    const [given = '', column] = name.split('.', 2);
    const table = tables.includes(given) ? given : nearest(given, tables);
    if (table === undefined || column === undefined) continue;
    const type = `tables.${table}`;
    found.push(...(await list(client, path('attributes', type), type)).map((each) => `${table}.${each}`));
  }
  return found;
}

/** A list, or the members of one member of an object. Whoever may not read it gets no advice. */
async function list(client: Client, at: string, member?: string): Promise<string[]> {
  const body = await client.get(at, { aside: true }).catch(() => undefined);
  if (member === undefined) return Array.isArray(body) ? body.map(String) : [];
  return Object.keys((body as Readonly<Record<string, object>> | undefined)?.[member] ?? {});
}
