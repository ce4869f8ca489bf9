import type { SecretBox } from '../access/secrets.ts';
import { isEnabled, type Row, tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { attributeNamed, hasWord, isSecret, type Mapping, nodeType } from '../objects/types.ts';
import type { Driver, DriverNode } from './capabilities.ts';

/** What a driver reads of a node, secrets opened. */
export function driverNode(
  reader: EffectiveReader,
  box: SecretBox,
  name: string,
  driver: Pick<Driver, 'name' | 'attributes'>,
): DriverNode {
  const rows = new Map<string, Row | undefined>();
  const valueAt = ({ table, column, where }: Mapping): string | undefined => {
    if (where) return reader.row(tableNamed(table), name, where)?.[column];
    // Most attributes of a driver stand in one row, which takes long to make.
    if (!rows.has(table)) rows.set(table, reader.row(tableNamed(table), name));
    return rows.get(table)?.[column];
  };
  const first = (mappings: readonly Mapping[]): string | undefined => {
    for (const mapping of mappings) {
      const value = valueAt(mapping);
      if (value) return isSecret(mapping) ? box.open(value, `${mapping.table}.${mapping.column}`) : value;
    }
    return undefined;
  };
  const mgtHolds = ({ onlyIf }: Mapping): boolean =>
    !onlyIf || hasWord(nodeAttribute(reader, name, onlyIf[0]), onlyIf[1]);
  const attributes: Record<string, string | undefined> = {};
  for (const attribute of driver.attributes) {
    const { at } = attributeNamed(nodeType, attribute);
    // As it is stored for this driver, else as `mgt` says: a driver may be picked by another attribute than `mgt`.
    attributes[attribute] = first(at.filter(({ onlyIf }) => onlyIf?.[1] === driver.name)) ?? first(at.filter(mgtHolds));
  }
  return { name, attributes, account: (key, username) => accountOf(reader, box, key, username) };
}

function accountOf(
  { snapshot }: EffectiveReader,
  box: SecretBox,
  key: string,
  wanted: string | undefined,
): ReturnType<DriverNode['account']> {
  const rows = [...snapshot.rows('passwd').values()].filter((row) => row['key'] === key && isEnabled(row));
  const row = rows.find(({ username }) => username === wanted) ?? rows[0];
  if (!row) return undefined;
  const { username, password } = row;
  return {
    ...(username === undefined ? {} : { username }),
    ...(password ? { password: box.open(password, 'passwd.password') } : {}),
  };
}
