import { Type } from 'typebox';
import { Paths, setting, type ValuesOf } from '../../core/settings.ts';

export const imageSettings = Type.Object({
  directories: setting(Paths, 'directories besides `site.installdir` that images may lie in and be made from', {
    defaultText: 'none',
  }),
});
export type ImageSettings = ValuesOf<typeof imageSettings>;
