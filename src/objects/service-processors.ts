import type { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import { noProcessorPort, processorPort } from '../core/processor-port.ts';
import { isEnabled, tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';
import { nodeAttribute } from './node-attributes.ts';
import { hasWord, type Mapping, nodeType } from './types.ts';

/** Account and address of a node's service processor, secrets opened. */
export interface ServiceProcessorAccess {
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The key of the service processor itself (IPMI's K_g), where the site has set one. */
  readonly key: string | undefined;
}

/** The driver that asks: where it keeps accounts, and the key of its kind in table passwd. */
export interface Asker {
  readonly name: string;
  readonly passwdKey: string;
}

/** From the node's own attributes, else the account of the kind in table passwd. */
export function serviceProcessorAccess(
  reader: EffectiveReader,
  box: SecretBox,
  node: string,
  { name, passwdKey }: Asker,
): ServiceProcessorAccess {
  const attribute = (wanted: string): string | undefined => storedFor(reader, node, wanted, name)?.value;
  const port = portIn(attribute('bmcport') ?? '');
  const username = attribute('bmcusername');
  const sealed = storedFor(reader, node, 'bmcpassword', name);
  const password = sealed && box.open(sealed.value, sealed.place);
  const fallback =
    username !== undefined && password !== undefined ? undefined : kindAccount(reader, box, passwdKey, username);
  return {
    address: attribute('bmc')?.split(',')[0],
    port,
    username: username ?? fallback?.username,
    password: password ?? fallback?.password,
    key: kindAccount(reader, box, `${passwdKey}kg`, username)?.password,
  };
}

function portIn(text: string): number | undefined {
  const port = processorPort(text);
  if (port === false) throw new Fault('invalid', `its attribute bmcport, "${text}", ${noProcessorPort}.`);
  return port;
}

interface Stored {
  readonly value: string;
  readonly place: string;
}

/** As it is stored for the asking driver; where that has nothing, as `mgt` says. A driver may be picked by another attribute than `mgt`. */
function storedFor(reader: EffectiveReader, node: string, name: string, driver: string): Stored | undefined {
  const { at } = nodeType.attributes.get(name)!;
  const first = (mappings: readonly Mapping[]): Stored | undefined => {
    for (const { table, column, where } of mappings) {
      const value = reader.row(tableNamed(table), node, where)?.[column];
      if (value !== undefined && value !== '') return { value, place: `${table}.${column}` };
    }
    return undefined;
  };
  const mgtHolds = ({ onlyIf }: Mapping): boolean =>
    !onlyIf || hasWord(nodeAttribute(reader, node, onlyIf[0]), onlyIf[1]);
  return first(at.filter(({ onlyIf }) => onlyIf?.[1] === driver)) ?? first(at.filter(mgtHolds));
}

/** Of several accounts of the kind the one with the node's user name, else the first. */
function kindAccount(
  { snapshot }: EffectiveReader,
  box: SecretBox,
  key: string,
  wanted: string | undefined,
): { username: string | undefined; password: string | undefined } | undefined {
  const rows = [...snapshot.rows('passwd').values()].filter((row) => row['key'] === key && isEnabled(row));
  const row = rows.find(({ username }) => username === wanted) ?? rows[0];
  if (!row) return undefined;
  return {
    username: row['username'],
    password: row['password'] ? box.open(row['password'], 'passwd.password') : undefined,
  };
}
