import { Type } from 'typebox';
import { Count, kind, setting, type ValuesOf } from '../../core/settings.ts';

const Service = kind('the name of a file in /etc/pam.d', Type.String({ pattern: '^[a-z0-9][a-z0-9._-]*$' }));

/** Section `pam`: users of this machine, and whatever its PAM knows. */
export const pamSettings = Type.Object({
  service: setting(Service, 'PAM service that muster asks, a file in `/etc/pam.d`', { default: 'muster' }),
  timeout: setting(Count, 'seconds that PAM has to answer', { default: 20 }),
});
export type PamSettings = ValuesOf<typeof pamSettings>;
