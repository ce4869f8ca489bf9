import type { Logger } from '../core/log.ts';
import type { Store } from '../database/store.ts';
import type { SecretBox } from './secrets.ts';

/** What every wing stands on. */
export interface Ground {
  /** The data directory. */
  readonly data: string;
  readonly store: Store;
  readonly box: SecretBox;
  readonly log: Logger;
}
