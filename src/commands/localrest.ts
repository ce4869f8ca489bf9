import { localAdapters } from '../services/interfaces.ts';
import { query } from './command.ts';

/** What the management node has itself. */
export const localrest = query<Record<string, never>>({
  name: 'localrest',
  run: () => ({ shape: 'value', value: localAdapters() }),
});
