import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Answer, Items, Objects, Rows } from '../../commands/command.ts';
import type { NodeResult, NodeValue } from '../../core/results.ts';
import { mapInSlices } from '../../core/slices.ts';
import type { RowChange } from '../../database/changeset.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { keyColumns, type Row, tableNamed } from '../../database/tables.ts';
import type { DryRun } from '../../dispatch/request.ts';
import { type Listing, listingBytes, type NodeCatalog } from '../../objects/catalog.ts';
import { redactRow } from '../../objects/effective.ts';
import { listSeparator } from '../endpoints/definition-body.ts';
import type { CommonParameters } from './parameters.ts';

const indent = 3;

/** How a reply is written: in one line, or indented; as the reference system does it, without a blank behind names. */
export interface JsonForm {
  readonly pretty: boolean;
  readonly blankAfterName: boolean;
}

const memberName = /^(\s*"(?:[^"\\]|\\.)*"): /gm;

/** A value as JSON. */
export function jsonText(value: unknown, { pretty, blankAfterName }: JsonForm): string {
  if (!pretty) return JSON.stringify(value);
  const text = JSON.stringify(value, null, indent);
  return blankAfterName ? text : text.replaceAll(memberName, '$1:');
}

const colonOf = ({ pretty, blankAfterName }: JsonForm): string => (pretty && blankAfterName ? ': ' : ':');

/** The start of a line, `depth` levels deep in an indented text. */
const lineAt = (pretty: boolean, depth: number): string => (pretty ? `\n${' '.repeat(indent * depth)}` : '');

/** The client has taken what was sent, or has left. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

/** How long, in milliseconds, a serialisation may hold the event loop. */
export const slice = 3;

/** Characters of a piece that takes time by itself. */
const long = 16_384;

/** A short body is one text, a long one comes in pieces. */
export type Body = string | Buffer[];

export const bodyText = (body: Body): string => (typeof body === 'string' ? body : Buffer.concat(body).toString());

/** Gathers a long text piece by piece, and lets others work in between. */
export class PacedText {
  readonly #pieces: Buffer[] = [];
  #part = '';
  #count = 0;
  #began = performance.now();

  /** What it returns must be awaited; most of the time that is nothing. */
  add(text: string): Promise<void> | undefined {
    this.#part += text;
    // The clock costs as much as a small piece, so it is not read for each; the output of a node may be a large one.
    if ((++this.#count & 15) !== 0 && text.length < long) return undefined;
    if (performance.now() - this.#began <= slice) return undefined;
    return this.#pause();
  }

  /** All of it, with a last piece. */
  end(text: string): Body {
    const rest = this.#part + text;
    if (this.#pieces.length === 0) return rest;
    this.#pieces.push(Buffer.from(rest));
    return this.#pieces;
  }

  async #pause(): Promise<void> {
    this.#pieces.push(Buffer.from(this.#part));
    this.#part = '';
    await setImmediate();
    this.#began = performance.now();
  }
}

/** Attributes that hold lists as arrays, as ver=1.0 wants. */
function asLists(attributes: NodeValue): unknown {
  if (Array.isArray(attributes)) return attributes;
  const lists: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes as Exclude<NodeValue, readonly string[]>)) {
    const separator = listSeparator(name);
    if (separator === undefined || typeof value !== 'string') lists[name] = value;
    else if (value !== '') lists[name] = value.split(separator);
  }
  return lists;
}

/** The body of a successful reply; long ones are made with pauses. */
export function bodyOf(
  answer: Answer | DryRun,
  snapshot: Snapshot,
  catalog: NodeCatalog,
  common: CommonParameters,
): Promise<Body> | Body {
  switch (answer.shape) {
    case 'none':
      return '';
    case 'list':
      return answer.items.length <= itemsTogether || common.pretty
        ? text(answer.items, common)
        : longList(answer.items);
    case 'value':
      return text(answer.value, common);
    case 'rows':
      return rowsBody(answer, common);
    case 'items':
      return itemsBody(answer, common);
    case 'text':
      return answer.text;
    // They have ways of their own.
    case 'events':
    case 'console':
      return '';
    case 'dry-run':
      return dryRunBody(answer, common);
    case 'objects': {
      const plain = !common.pretty && !common.lists && !common.xcoll;
      if (plain && answer.wholeCatalog) return wholeListing(catalog, catalog.listing(snapshot));
      if (plain && answer.text && answer.names.length === 1) return oneObject(answer.names[0]!, answer.text);
      return objectsBody(answer, common, plain);
    }
  }
}

const text = (value: unknown, form: JsonForm): string => `${jsonText(value, form)}\n`;

/** Items of a list that are written in one go. */
const itemsTogether = 1_000;

async function longList(items: readonly string[]): Promise<Body> {
  const body = new PacedText();
  for (let from = 0; from < items.length; from += itemsTogether) {
    const json = JSON.stringify(items.slice(from, from + itemsTogether)).slice(1, -1);
    const pause = body.add(`${from === 0 ? '[' : ','}${json}`);
    if (pause) await pause;
  }
  return body.end(']\n');
}

/** Stands in JSON as it is. */
const plainName = /^[\w.-]+$/;

/** Most names are plain, and turning a text into JSON by itself takes longer than looking at it. */
const oneObject = (name: string, textOf: (name: string) => string): string =>
  `{${plainName.test(name) ? `"${name}"` : JSON.stringify(name)}:${textOf(name)}}\n`;

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

/** One value as JSON, `depth` levels deep in an indented text. */
const valueJson = (value: unknown, form: JsonForm, depth: number): string =>
  form.pretty ? jsonText(value, form).replaceAll('\n', lineAt(true, depth)) : JSON.stringify(value);

async function objectsBody(objects: Objects, common: CommonParameters, plain: boolean): Promise<Body> {
  const { pretty } = common;
  const shown = (name: string): unknown =>
    common.lists ? asLists(objects.attributes(name)) : objects.attributes(name);
  if (common.xcoll)
    return text(collapse(await mapInSlices(objects.names, (name) => [name, shown(name)] as const)), common);
  if (objects.names.length === 0) return text({}, common);
  const body = new PacedText();
  const colon = colonOf(common);
  let separator = `{${lineAt(pretty, 1)}`;
  for (const name of objects.names) {
    const json = plain && objects.text ? objects.text(name) : valueJson(shown(name), common, 1);
    const pause = body.add(`${separator}${JSON.stringify(name)}${colon}${json}`);
    if (pause) await pause;
    separator = `,${lineAt(pretty, 1)}`;
  }
  return body.end(`${lineAt(pretty, 0)}}\n`);
}

async function rowsBody({ tables }: Rows, form: JsonForm): Promise<Body> {
  const { pretty } = form;
  const body = new PacedText();
  const colon = colonOf(form);
  let separator = `{${lineAt(pretty, 1)}`;
  for (const [table, rows] of tables) {
    let before = `${separator}${JSON.stringify(table)}${colon}[`;
    let empty = true;
    for (const row of rows) {
      const pause = body.add(`${before}${lineAt(pretty, 2)}${valueJson(row, form, 2)}`);
      if (pause) await pause;
      before = ',';
      empty = false;
    }
    separator = `${empty ? before : lineAt(pretty, 1)}],${lineAt(pretty, 1)}`;
  }
  return body.end(`${separator.replace(/,\s*$/, '')}${lineAt(pretty, 0)}}\n`);
}

async function itemsBody(
  { before = {}, member, items, after = {} }: Omit<Items, 'shape'>,
  form: JsonForm,
): Promise<Body> {
  const { pretty } = form;
  const body = new PacedText();
  const colon = colonOf(form);
  const members = (object: object): string[] =>
    Object.entries(object).flatMap(([name, value]) =>
      value === undefined ? [] : `${JSON.stringify(name)}${colon}${valueJson(value, form, 1)}`,
    );
  const line = lineAt(pretty, 1);
  let separator = `{${members(before)
    .map((each) => `${line}${each},`)
    .join('')}${line}${JSON.stringify(member)}${colon}[`;
  let close = '';
  for (const item of items) {
    const pause = body.add(`${separator}${lineAt(pretty, 2)}${valueJson(item, form, 2)}`);
    if (pause) await pause;
    separator = ',';
    close = line;
  }
  const rest = members(after).map((each) => `,${line}${each}`);
  return body.end(`${separator === ',' ? '' : separator}${close}]${rest.join('')}${lineAt(pretty, 0)}}\n`);
}

/** What a dry run found: rows that would change, and what would be done to which node. */
function dryRunBody({ changes, nodes, results }: DryRun, form: JsonForm): Promise<Body> | Body {
  const found = results ? { nodes, ...foundOnNodes(results) } : { nodes };
  return changes ? itemsBody({ member: 'changes', items: rowChanges(changes), after: found }, form) : text(found, form);
}

function foundOnNodes(results: readonly NodeResult[]): object {
  const targets = results.flatMap((result) => ('value' in result ? [[result.node, result.value] as const] : []));
  const refused = results.flatMap((result) => ('error' in result ? [[result.node, result.error] as const] : []));
  return { targets: Object.fromEntries(targets), refused: Object.fromEntries(refused) };
}

function* rowChanges(changes: readonly RowChange[]): Iterable<object> {
  const shown = (table: string, row: Row | undefined): Row | null => (row ? redactRow(tableNamed(table), row) : null);
  for (const { table, key, before, after } of changes)
    yield {
      table,
      key: redactRow(tableNamed(table), keyColumns(tableNamed(table), key)),
      before: shown(table, before),
      after: shown(table, after),
    };
}

/** Adds debug messages to a finished reply as the shape of the reply allows. */
export function withDebug(finished: Body, messages: readonly string[], common: CommonParameters): string {
  const body = bodyText(finished);
  if (body === '') return text({ debug: messages }, common);
  const value = JSON.parse(body) as unknown;
  return text(
    Array.isArray(value) ? [...value, { debug: messages }] : { ...(value as object), debug: messages },
    common,
  );
}

/** Objects with equal content under one key: their names, sorted and joined by commas. */
function collapse(objects: readonly (readonly [name: string, value: unknown])[]): Record<string, unknown> {
  const byContent = new Map<string, { names: string[]; value: unknown }>();
  for (const [name, value] of objects) {
    const content = JSON.stringify(sorted(value));
    const same = byContent.get(content);
    if (same) same.names.push(name);
    else byContent.set(content, { names: [name], value });
  }
  return Object.fromEntries([...byContent.values()].map(({ names, value }) => [names.sort().join(','), value]));
}

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
