import { join } from 'node:path';
import type { SyslogDuty } from '../../bus/index.ts';
import { Fault } from '../../core/errors.ts';
import { makeDirectory } from '../../core/files.ts';
import type { ListenAddress } from '../../core/host-address.ts';
import { type DaemonSpec, installedProgram } from '../../names/index.ts';
import type { WorkerSettings } from '../settings.ts';
import { configurationFile, readyAt } from './daemon-files.ts';

/** Receives log messages of nodes and sends them to the server; undefined: the settings do not want that. */
export function logServer(
  { servers }: SyslogDuty,
  { syslogListen: listen, syslogServer }: WorkerSettings,
  directory: string,
): DaemonSpec | undefined {
  const [first] = listen ?? [];
  if (!listen || !first) return undefined;
  const server = syslogServer ?? servers[0];
  if (!server)
    throw new Fault(
      'invalid',
      'It receives no log messages, because it does not know where to send them: PUT /globalconf/attrs/master {"master":"ADDRESS"}, or set worker.syslogServer in its configuration.',
    );
  const program = installedProgram('rsyslogd', 'rsyslog (Debian: apt install rsyslog)');
  const queue = join(directory, 'syslog-queue');
  makeDirectory(queue);
  const configuration = configurationFile(directory, 'rsyslogd', render(listen, server, queue));
  return {
    name: 'rsyslogd',
    unit: '',
    command: [program, '-n', '-i', 'NONE', '-f', configuration],
    ...readyAt('rsyslogd', first),
  };
}

/** What is kept while the server is away; then messages are lost, the newest first. */
const largestQueue = '256m';

function render(listen: readonly ListenAddress[], server: ListenAddress, queue: string): string {
  const inputs = listen.flatMap(({ host, port }) =>
    ['imudp', 'imtcp'].map((type) => `input(type="${type}" address="${host}" port="${port}" ruleset="nodes")`),
  );
  const lines = [
    '# Written by a worker of muster: changes by hand are lost.',
    `global(workDirectory="${queue}")`,
    'module(load="imudp")',
    'module(load="imtcp")',
    'ruleset(name="nodes") {',
    `  action(type="omfwd" target="${server.host}" port="${server.port}" protocol="tcp" template="RSYSLOG_SyslogProtocol23Format"`,
    `    tcp_framing="octet-counted" action.resumeRetryCount="-1" action.resumeInterval="5" action.resumeIntervalMax="10"`,
    `    queue.type="LinkedList" queue.filename="nodes" queue.maxDiskSpace="${largestQueue}" queue.saveOnShutdown="on" queue.timeoutEnqueue="0")`,
    '}',
    ...inputs,
  ];
  return `${lines.join('\n')}\n`;
}
