import { localAdapters } from '../services/interfaces.ts';
import { noArguments, query } from './command.ts';

/** What the management node has itself. */
export const localrest = query({
  name: 'localrest',
  args: noArguments,
  line: () => ['list', 'adapters'],
  run: () => ({ shape: 'value', value: localAdapters() }),
});
