import { join } from 'node:path';
import { home } from './home.ts';

/** Where Node keeps what it has compiled. Compiling all modules anew would take most of the time of a start. */
export const compileCache = join(home, '.cache', 'compile');
