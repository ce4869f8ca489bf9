import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { Count, kind, setting, Switch, type ValuesOf } from '../core/settings.ts';

/** Where accounts may come from besides table passwd. */
export const sourceNames = ['ldap', 'pam'] as const;
export type SourceName = (typeof sourceNames)[number];

const Sources = kind(`a list of ${sourceNames.join(', ')}`, Type.Array(Type.Enum([...sourceNames])));

/** Section `accounts`: accounts of the site. */
export const accountSettings = Type.Decode(
  Type.Object({
    sources: setting(
      Sources,
      'where muster looks for accounts that table `passwd` does not have, in this order: `ldap`, `pam`',
      { default: [], defaultText: 'none' },
    ),
    root: setting(Switch, 'whether an account called `root` may come from one of these sources', { default: false }),
    remember: setting(Count, 'seconds for which a password that a source found right is not checked again', {
      default: 300,
    }),
    checkEvery: setting(Count, 'seconds after which muster asks again whether an account exists, and for its groups', {
      default: 300,
    }),
    keep: setting(Count, 'seconds for which tokens stay good while the source of their account cannot be asked', {
      default: 28_800,
      defaultText: '28800 (8 hours)',
    }),
    parallel: setting(Count, 'passwords that each source checks at the same time', { default: 8 }),
  }),
  (settings) => {
    const { sources } = settings;
    if (new Set(sources).size < sources.length)
      throw new Fault('invalid', `accounts.sources names a source twice: ${sources.join(', ')}.`);
    return settings;
  },
);
export type AccountSettings = ValuesOf<typeof accountSettings>;
