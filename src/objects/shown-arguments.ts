import { type Row, tables } from '../database/tables.ts';
import { isSecret, nodeType, type ObjectType, splitNic, typeNamed } from './types.ts';

/** What stands for a secret where arguments are shown: in the audit log, in debug replies and to policy patterns. */
const hidden = 'xxxxxxxx';

/** Secrets are hidden, and so is what was given for an attribute that is none: it may be a secret under a mistyped name. */
export function shownAttribute(type: ObjectType, name: string, value: string): string {
  const mappings = type.attributes.get(name)?.at ?? type.attributes.get(splitNic(name).base)?.at ?? [];
  const known = type.name === 'site' || mappings.length > 0;
  if (value !== '' && (!known || mappings.some(isSecret))) return `${name}=${hidden}`;
  return `${name}=${name === 'wherevals' ? shownRange(value) : value}`;
}

/** How the reference system writes what a definition command is told about one object. */
export function definitionWords(
  typeName: string,
  name: string,
  attributes: Row = {},
  options: readonly string[] = [],
): string[] {
  return ['-t', typeName, '-o', shownRange(name), ...options, ...attributeWords(typeName, attributes)];
}

/** `name=value` arguments in the order given, secrets replaced. */
export function attributeWords(typeName: string, attributes: Row): string[] {
  const type = typeNamed(typeName);
  return Object.entries(attributes).map(([name, value]) => shownAttribute(type, name, value));
}

export function shownColumn(table: string, column: string, value: string): string {
  const definition = tables.get(table);
  const open = definition?.columns.includes(column) && !definition.secret.has(column);
  if (value !== '' && !open) return `${table}.${column}=${hidden}`;
  return `${table}.${column}=${column === 'wherevals' ? shownRange(value) : value}`;
}

export const shownColumns = (table: string, columns: Row): string[] =>
  Object.entries(columns).map(([column, value]) => shownColumn(table, column, value));

/** The keys of a row up to the first that is secret or unknown; such a request is refused, but its arguments are kept. */
export function shownKeys(table: string, keys: string): string {
  const definition = tables.get(table);
  const parts = keys.split(',');
  const wrong = parts.findIndex((part) => {
    const column = part.split('=', 1)[0]!.trim();
    return !definition?.columns.includes(column) || definition.secret.has(column);
  });
  if (wrong < 0) return keys;
  return [...parts.slice(0, wrong), `${parts[wrong]!.split('=', 1)[0]!}=${hidden}`].join(',');
}

/** A condition on a secret says what the secret may be, so nothing is shown from its value on. */
export function shownRange(range: string): string {
  if (!/[=~]/.test(range)) return range;
  for (const condition of range.matchAll(/\b([A-Za-z]\w*)(?:\.(\w+))?\s*(?:==|=~|!=|!~|=)/g)) {
    const [whole, name = '', column] = condition;
    const secret =
      column === undefined ? nodeType.attributes.get(name)?.at.some(isSecret) : tables.get(name)?.secret.has(column);
    if (secret) return range.slice(0, condition.index + whole.length) + hidden;
  }
  return range;
}
