import * as fc from 'fast-check';
import { nodeTables, tables } from '../../../src/database/tables.ts';
import type { Endpoint } from '../../../src/rest/endpoints/endpoint.ts';
import { columnList, keysFor, type Known, someNodes } from './pieces.ts';
import { type Content, fill, type Request } from './request.ts';
import { type Attributes, attributesOf, mentionedIn, words } from './values.ts';

/** Rows of tables: their keys and columns belong to the table of the path. */
export function tableRequest(row: Endpoint, known: Known): fc.Arbitrary<Pick<Request, 'path'> & Content> {
  if (row.path.includes('{keys}')) {
    const written = row.method === 'PUT' ? attributesOf('row') : fc.constant<Attributes>({});
    return fc.tuple(keysFor(known), columnList, written).map(([{ table, keys, mentions }, wanted, given]) => {
      const body = row.method === 'PUT' ? columnsOf(table, given) : given;
      return {
        path: fill(row.path, { tablelist: table, keys, attrlist: wanted.text }),
        ...(row.method === 'PUT' && { body }),
        mentions: [...mentions, ...mentionedIn(body)],
        lines: [{ line: [table, keys, ...words(body).map((word) => `${table}.${word}`)].join(' ') }],
      };
    });
  }
  if (row.path.endsWith('/rows'))
    return fc
      .tuple(keysFor(known), attributesOf('row'), fc.boolean())
      .map(([{ table, keys, mentions }, given, removes]) => {
        const columns = columnsOf(table, given);
        const named = Object.fromEntries(keys.split(',').map((pair) => pair.split('=', 2)));
        const line = [table, keys, ...(removes ? [] : words(columns).map((word) => `${table}.${word}`))].join(' ');
        return {
          path: fill(row.path, { tablelist: table }),
          body: removes ? { remove: [named] } : { set: [{ keys: named, columns }] },
          mentions: [...mentions, ...(removes ? [] : mentionedIn(columns))],
          lines: [{ line, ...(removes && { command: 'delEntries' }) }],
        };
      });
  return fc
    .tuple(fc.constantFrom(...nodeTables), someNodes(known), attributesOf('row'))
    .map(([{ name }, { text, mentions }, given]) => {
      const body = columnsOf(name, given);
      return {
        path: fill(row.path, { tablelist: name, noderange: text }),
        body: { [name]: body },
        mentions: [...mentions, ...mentionedIn(body)],
        lines: [
          {
            line: words(body)
              .map((word) => `${name}.${word}`)
              .join(' '),
          },
        ],
      };
    });
}

/** Those that the table has. */
function columnsOf(table: string, given: Attributes): Attributes {
  const { columns } = tables.get(table)!;
  const found = Object.entries(given).filter(([column]) => columns.includes(column));
  return found.length > 0 ? Object.fromEntries(found) : { comments: 'x' };
}
