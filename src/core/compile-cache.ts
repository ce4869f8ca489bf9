import { join } from 'node:path';

/** Where Node keeps what it has compiled. Stripping types and compiling all modules anew would take most of the time of a start. */
export const compileCache = join(import.meta.dirname, '../..', '.cache', 'compile');
