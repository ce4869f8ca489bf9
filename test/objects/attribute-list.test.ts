import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import meanings from '../../src/database/meanings.json' with { type: 'json' };
import { hasForm } from '../../src/database/checks.ts';
import { tables } from '../../src/database/tables.ts';
import { attributeLists } from '../../src/objects/attribute-list.ts';

it('every attribute and every column has a meaning, a type, a place and somebody who reads it, or nobody', () => {
  const lacking = [...attributeLists].flatMap(([list, entries]) =>
    Object.entries(entries).flatMap(([name, { meaning, type, stored, readBy }]) =>
      meaning && type && readBy && stored.length > 0 ? [] : `${list} ${name}`,
    ),
  );
  expect(lacking).toEqual([]);
  expect(attributeLists.get('node')?.['bmc']).toEqual({
    meaning: 'address or name of the BMC',
    type: 'addresses or host names, separated by commas',
    stored: ['ipmi.bmc if mgt is ipmi', 'ipmi.bmc if mgt is redfish', 'openbmc.bmc if mgt is openbmc'],
    readBy: 'discovery, hardware control',
  });
  expect(attributeLists.get('node')?.['bmcpassword']?.type).toContain('secret');
  expect(attributeLists.get('site')?.['ntpservers']?.readBy).toBe('makedhcp, installers, the postscript setupntp');
  expect(attributeLists.get('site')?.['maxssh']?.readBy).toContain('nothing');
  expect(attributeLists.get('node')?.['room']?.readBy).toContain('nothing');
});

it('no meaning is left of a column that is gone', () => {
  const stray = Object.entries(meanings).flatMap(([table, { columns }]) =>
    Object.keys(columns).filter((column) => !tables.get(table)?.columns.includes(column)),
  );
  expect(stray).toEqual([]);
});

it('a column whose values are checked says what they must be', () => {
  const checked = [...tables.values()].flatMap((table) =>
    table.columns.filter((column) => hasForm(table, column)).map((column) => [table.name, column] as const),
  );
  const silent = checked.filter(([table, column]) => attributeLists.get(`tables.${table}`)?.[column]?.type === 'text');
  expect(silent).toEqual([]);
});

it('no sentence is long: it is a list to look things up in', () => {
  const text = readFileSync(new URL('../../src/database/meanings.json', import.meta.url), 'utf8');
  expect(text.split('\n').filter((line) => line.length > 140)).toEqual([]);
});
