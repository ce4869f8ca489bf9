import { setImmediate } from 'node:timers/promises';
import type { Answer, Objects } from '../commands/command.ts';
import type { DryRun } from '../dispatch/dispatch.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed, type Row } from '../database/tables.ts';
import { keyColumns } from '../database/tables.ts';
import { type Listing, listingBytes, type NodeCatalog } from '../objects/catalog.ts';
import { redactRow } from '../objects/effective.ts';
import { collapse } from './collapse.ts';
import type { CommonParameters } from './parameters.ts';

/** How long a serialisation may hold the event loop. */
export const slice = 3;
const indent = 3;

export type Attributes = Readonly<Record<string, string>> | readonly string[];

/** Attributes shown as arrays with ver=1.0, and what separates their items. */
function asLists(attributes: Attributes): unknown {
  if (Array.isArray(attributes)) return attributes;
  const lists: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes as Record<string, string>)) {
    const separator = name.startsWith('nicips.')
      ? '|'
      : ['groups', 'members', 'postscripts', 'postbootscripts'].includes(name)
        ? ','
        : undefined;
    if (separator === undefined) lists[name] = value;
    else if (value !== '') lists[name] = value.split(separator);
  }
  return lists;
}

/** The body of a successful reply, in pieces; long ones are made with pauses. */
export async function bodyOf(
  answer: Answer | DryRun,
  snapshot: Snapshot,
  catalog: NodeCatalog,
  common: CommonParameters,
): Promise<Buffer[]> {
  switch (answer.shape) {
    case 'none':
      return [];
    case 'list':
      return text(answer.items, common);
    case 'value':
      return text(answer.value, common);
    case 'dry-run':
      return text(dryRunReport(answer), common);
    case 'objects': {
      const plain = !common.pretty && !common.lists && !common.xcoll;
      if (plain && answer.wholeCatalog) return wholeListing(catalog, catalog.listing(snapshot));
      return objectsBody(answer, common, plain);
    }
  }
}

function text(value: unknown, { pretty }: CommonParameters): Buffer[] {
  return [Buffer.from(`${JSON.stringify(value, null, pretty ? indent : 0)}\n`)];
}

async function wholeListing(catalog: NodeCatalog, listing: Listing): Promise<Buffer[]> {
  const blocks: Buffer[] = [];
  let began = performance.now();
  for (const block of listing.blocks) {
    const made = block.bytes === undefined;
    blocks.push(catalog.fill(listing, block));
    if (made && performance.now() - began > slice) {
      await setImmediate();
      began = performance.now();
    }
  }
  return listingBytes(blocks);
}

async function objectsBody(objects: Objects, common: CommonParameters, plain: boolean): Promise<Buffer[]> {
  if (common.xcoll) return text(collapse(await collected(objects, common)), common);
  const { names } = objects;
  if (names.length === 0) return [Buffer.from('{}\n')];
  const shown = (name: string): string => {
    if (plain && objects.text) return objects.text(name);
    const attributes = common.lists ? asLists(objects.attributes(name)) : objects.attributes(name);
    return JSON.stringify(attributes, null, common.pretty ? indent : 0);
  };
  const pieces: Buffer[] = [];
  let part = '{';
  let began = performance.now();
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    const separator = i === 0 ? '' : ',';
    if (common.pretty) part += `${separator}\n   ${JSON.stringify(name)}: ${shown(name).replaceAll('\n', '\n   ')}`;
    else part += `${separator}${JSON.stringify(name)}:${shown(name)}`;
    if ((i & 63) === 63 && performance.now() - began > slice) {
      pieces.push(Buffer.from(part));
      part = '';
      await setImmediate();
      began = performance.now();
    }
  }
  pieces.push(Buffer.from(`${part}${common.pretty ? '\n' : ''}}\n`));
  return pieces;
}

async function collected(objects: Objects, common: CommonParameters): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  let began = performance.now();
  for (const name of objects.names) {
    values.set(name, common.lists ? asLists(objects.attributes(name)) : objects.attributes(name));
    if (performance.now() - began > slice) {
      await setImmediate();
      began = performance.now();
    }
  }
  return values;
}

function dryRunReport({ changes, nodes }: DryRun): unknown {
  const shown = (table: string, row: Row | undefined): Row | null => (row ? redactRow(tableNamed(table), row) : null);
  return {
    changes: changes.map(({ table, key, before, after }) => ({
      table,
      key: redactRow(tableNamed(table), keyColumns(tableNamed(table), key)),
      before: shown(table, before),
      after: shown(table, after),
    })),
    nodes,
  };
}

/** Adds debug messages to a finished reply as the shape of the reply allows. */
export function withDebug(pieces: readonly Buffer[], messages: readonly string[], common: CommonParameters): Buffer[] {
  const body = Buffer.concat(pieces).toString();
  if (body === '') return text({ debug: messages }, common);
  const value = JSON.parse(body) as unknown;
  return text(
    Array.isArray(value) ? [...value, { debug: messages }] : { ...(value as object), debug: messages },
    common,
  );
}
