import { formMarker } from '../form.ts';
import { metaTable } from '../own-tables.ts';

/** The form that the database has now, as a part of a query: looked up with what is read or written, it costs no question of its own. */
export const storedForm = `(select value from ${metaTable} where name = '${formMarker}')`;

/** Takes the lock of all writers. */
export const takeLock = `select ${storedForm} as form from ${metaTable} where name = 'revision' for update`;
