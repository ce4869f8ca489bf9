import { join } from 'node:path';

/** The bundle lies as deep in the checkout as this file. */
export const checkout = join(import.meta.dirname, '../..');
