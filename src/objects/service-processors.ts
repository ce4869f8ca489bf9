import type { SecretBox } from '../access/secrets.ts';
import { isEnabled, tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';
import { nodeAttribute } from './node-attributes.ts';
import { hasWord, nodeType } from './types.ts';

/** Account and address of a node's service processor, secrets opened. */
export interface ServiceProcessorAccess {
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** From the node's own attributes, else the account of the kind in table passwd. */
export function serviceProcessorAccess(
  reader: EffectiveReader,
  box: SecretBox,
  node: string,
  passwdKey: string,
): ServiceProcessorAccess {
  const port = Number(nodeAttribute(reader, node, 'bmcport') ?? '');
  const username = nodeAttribute(reader, node, 'bmcusername');
  const password = openAttribute(reader, box, node, 'bmcpassword');
  const fallback = username !== undefined && password !== undefined ? undefined : kindAccount(reader, box, passwdKey);
  return {
    address: nodeAttribute(reader, node, 'bmc')?.split(',')[0],
    // The reference system keeps the choice of a shared or dedicated port here, a small number; a network port is larger.
    port: port >= 100 && port < 65_536 ? port : undefined,
    username: username ?? fallback?.username,
    password: password ?? fallback?.password,
  };
}

/** The clear text of a secret attribute, for use on the wire only. */
function openAttribute(reader: EffectiveReader, box: SecretBox, node: string, name: string): string | undefined {
  for (const { table, column, onlyIf, where } of nodeType.attributes.get(name)!.at) {
    if (onlyIf && !hasWord(nodeAttribute(reader, node, onlyIf[0]), onlyIf[1])) continue;
    const sealed = reader.row(tableNamed(table), node, where)?.[column];
    if (sealed !== undefined) return box.open(sealed, `${table}.${column}`);
  }
  return undefined;
}

function kindAccount(
  reader: EffectiveReader,
  box: SecretBox,
  key: string,
): { username: string | undefined; password: string | undefined } | undefined {
  const row = reader.snapshot
    .rows('passwd')
    .values()
    .find((candidate) => candidate['key'] === key && isEnabled(candidate));
  if (!row) return undefined;
  return {
    username: row['username'],
    password: row['password'] ? box.open(row['password'], 'passwd.password') : undefined,
  };
}
