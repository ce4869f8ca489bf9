import type { TSchema } from 'typebox';
import type { Logger } from '../core/log.ts';
import { schemaCheck } from '../core/schema-check.ts';
import type { SharedRecord } from './shared-records.ts';

/** What the body of a record says; undefined if it has another shape. */
export type BodyReader<T> = (record: SharedRecord, log: Logger) => T | undefined;

/** More servers than write in another shape; after that nothing more is logged. */
const mostLogged = 1_000;

/** Reads bodies of one shape. A server of another version may write another one: whoever reads leaves that out, and the log names it once. */
export function bodyReader<T>(schema: TSchema): BodyReader<T> {
  const check = schemaCheck(schema);
  const logged = new Set<string>();
  return (record, log) => {
    const body = parsed(record.body);
    if (check.is(body)) return body as T;
    const { kind, name, holder } = record;
    const source = `${kind} ${holder}`;
    if (!logged.has(source) && logged.size < mostLogged) {
      logged.add(source);
      log.warn(
        { kind, name, server: holder },
        `This version of muster cannot read a record of kind ${kind} in the database, and leaves out what server ${holder} writes like that. Run the same version on all servers.`,
      );
    }
    return undefined;
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
