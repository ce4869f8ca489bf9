import { Type } from 'typebox';
import { Count, Paths, setting, type ValuesOf } from '../../core/settings.ts';
import { containerSettings } from './containers/settings.ts';

export const imageSettings = Type.Object({
  directories: setting(Paths, 'directories besides `site.installdir` that images may lie in and be made from', {
    defaultText: 'none',
  }),
  keptPacks: setting(Count, 'packs of an image that are kept, the one in use among them', { default: 3 }),
  ...containerSettings,
});
export type ImageSettings = ValuesOf<typeof imageSettings>;
