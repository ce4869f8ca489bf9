import { Type } from 'typebox';
import { Count, Networks, oneOf, Path, Paths, setting, type ValuesOf } from '../../core/settings.ts';

export const remoteSettings = Type.Object({
  transport: setting(oneOf('ssh2', 'process'), 'SSH in this process, or by the ssh command (`process`)', {
    default: 'ssh2',
  }),
  sshConfig: setting(Path, 'configuration file of the ssh command', { defaultText: 'none' }),
  port: setting(Count, 'port of SSH on nodes', { default: 22 }),
  hostKeys: setting(
    oneOf('first-use', 'strict'),
    'whether a host key that is not known is accepted and kept, or refused (`strict`)',
    {
      default: 'first-use',
    },
  ),
  fanOut: setting(Count, 'nodes that one command works on at once', { default: 256 }),
  connectSeconds: setting(Count, 'seconds from nothing to a started command', { default: 10 }),
  commandSeconds: setting(Count, 'seconds a command may run on a node', { default: 600 }),
  keepSeconds: setting(Count, 'seconds an unused connection is kept', { default: 30 }),
  outputLimit: setting(Count, "bytes of a node's output that are kept", { default: 1_048_576, defaultText: '1 MiB' }),
  sources: setting(Paths, 'directories that files may be sent from', { defaultText: '`DIR/files`, `/install`' }),
  networks: setting(Networks, 'networks that nodes are in', {
    defaultText: 'anywhere, which the log tells at the start',
  }),
  postscripts: setting(Path, 'directory of the scripts that nodes run', { defaultText: '`DIR/postscripts`' }),
});
export type RemoteSettings = ValuesOf<typeof remoteSettings>;
