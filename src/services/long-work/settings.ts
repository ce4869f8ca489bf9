import { Type } from 'typebox';
import { Count, setting, type ValuesOf } from '../../core/settings.ts';

export const longWorkSettings = Type.Object({
  seconds: setting(Count, 'seconds that long work, such as building an image, may take', { default: 14_400 }),
  atOnce: setting(Count, 'long work that is done at once; more waits, and one user has at most all but one of them', {
    default: 4,
  }),
  reserve: setting(Count, 'bytes that long work leaves free on the file systems it writes to', {
    default: 1_073_741_824,
    defaultText: '1 GiB',
  }),
});
export type LongWorkSettings = ValuesOf<typeof longWorkSettings>;
