import type { JournalChanges, JournalColumns } from './changeset.ts';
import { hidden, isCalledSecret, secretColumnsOf } from './secret-columns.ts';
import { keyOf, type Row, snapshotTables, type Table } from './tables.ts';

/** How secrets are stored. */
export interface Sealing {
  seal(clear: string, context: string): string;
  isSealed(text: string): boolean;
}

/** What the key does that all servers of a database have, and nobody else who reads the database. */
export interface ServerKey extends Sealing {
  /** The same for the same text, and to be guessed by nobody. */
  mac(text: string): string;
}

/** The name under which a database keeps for which list of names it was done. */
export const sealedMarker = 'secret-names';

/** Tables whose rows have names that people choose. */
export const namingTables: readonly Table[] = snapshotTables.filter(({ namesSecrets }) => namesSecrets !== undefined);

/** By these texts the entries of the journal and blocks of the audit log are found that may hold such rows. */
export const journalText = ({ name }: Table): string => `"${name}":[`;
export const auditTexts = ({ name, namesSecrets }: Table): string[] =>
  [...namesSecrets!.values].map((column) => ` ${name}.${column}=`);

interface SealedRow {
  /** As `site.apitoken`. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly values: readonly (string | null)[];
}

/** Seals what was stored in clear text because its name was not among those of secrets then. */
export class Sealer {
  readonly #sealing: Sealing;
  /** The same text is sealed once: a revert compares what the journal has with what is stored. */
  readonly #sealed = new Map<string, string>();

  constructor(sealing: Sealing) {
    this.#sealing = sealing;
  }

  /** What a row's columns with secrets become; undefined if they are sealed already. */
  row(table: Table, row: Row): SealedRow | undefined {
    const key = keyOf(table, row);
    const sealed = this.#columns(table, key, row);
    if (sealed === row) return undefined;
    const columns = [...secretColumnsOf(table, key)];
    const name = `${table.name}.${row[table.namesSecrets!.name]!}`;
    return { name, columns, values: columns.map((column) => sealed[column] ?? null) };
  }

  /** The changes of a journal entry. */
  journal(table: Table, text: string): string {
    const changes = JSON.parse(text) as JournalChanges;
    const rows = (changes[table.name] ?? []).map(([key, before, after]) => [
      key,
      before && this.#columns(table, key, before),
      after && this.#columns(table, key, after),
    ]);
    return JSON.stringify({ ...changes, [table.name]: rows });
  }

  /** The records of a block of the audit log, without values that follow `text`. */
  audit({ namesSecrets }: Table, text: string, records: string): string {
    const shown = (JSON.parse(records) as (string | number)[][]).map((record) =>
      record.map((each) => (typeof each === 'string' ? withoutValue(each, text, namesSecrets!.name) : each)),
    );
    return JSON.stringify(shown);
  }

  #columns<T extends JournalColumns>(table: Table, key: string, columns: T): T {
    let sealed: Record<string, string | null> | undefined;
    for (const column of secretColumnsOf(table, key)) {
      const value = columns[column];
      if (value && !this.#sealing.isSealed(value))
        (sealed ??= { ...columns })[column] = this.#once(value, `${table.name}.${column}`);
    }
    return (sealed as T | undefined) ?? columns;
  }

  #once(clear: string, context: string): string {
    const name = `${context}=${clear}`;
    const known = this.#sealed.get(name);
    if (known !== undefined) return known;
    const sealed = this.#sealing.seal(clear, context);
    this.#sealed.set(name, sealed);
    return sealed;
  }
}

/** The arguments of a request that wrote a row, up to its value if the row has the name of a secret. */
function withoutValue(args: string, value: string, naming: string): string {
  const at = args.indexOf(value);
  if (at < 0) return args;
  const names = args.matchAll(new RegExp(`\\b${naming}=([^,\\s]+)`, 'g'));
  return names.some(([, name]) => isCalledSecret(name!)) ? args.slice(0, at + value.length) + hidden : args;
}
