import { Type } from 'typebox';
import { Path, setting, Switch, type ValuesOf } from '../../core/settings.ts';

export const nameSettings = Type.Object({
  hostsFile: setting(Path, 'hosts file that is read and written', {
    default: '/etc/hosts',
    variable: 'MUSTER_HOSTS_FILE',
  }),
  lookup: setting(Switch, 'whether names of nodes without an address are looked up outside the hosts file', {
    default: true,
    variable: 'MUSTER_NAME_LOOKUP',
  }),
});
export type NameSettings = ValuesOf<typeof nameSettings>;
