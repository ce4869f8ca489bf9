// muster with one command more.
import { parseArgs } from 'node:util';
import { loadConfig } from '../../../src/config.ts';
import { serve } from '../../../src/serve.ts';
import { rowsWithToil } from './command.ts';

const { values } = parseArgs({
  options: { data: { type: 'string' }, listen: { type: 'string', multiple: true }, config: { type: 'string' } },
});
await serve(loadConfig(values, process.env), rowsWithToil);
