import { events as listen, metrics, sd } from '../../commands/index.ts';
import { Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { type EventKind, eventKinds } from '../../core/event-kinds.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

const example = [
  'retry: 2000',
  '',
  'id: 4711.5f3a9c01.0',
  'event: ready',
  'data: {"kind":"ready","time":"2026-11-15T09:05:00.000Z","revision":1203}',
  '',
  'id: 4712.5f3a9c01.1',
  'event: status',
  'data: {"kind":"status","time":"2026-11-15T09:05:02.130Z","status":"booted","statustime":"11-15-2026 09:05:02","nodes":["n1","n2"]}',
  '',
  '',
].join('\n');

const description = `Server-sent events: lines \`id\`, \`event\` (the kind) and \`data\` (one JSON object, with \`kind\` again), then a blank one. Kinds:
change: a change set of the journal: revision, time, user, client, command, run, and rows, each {table, nodes or keys, set, new, removed}: rows that became the same stand together; nodes are names in the table's node column (of groups too), keys are objects of key columns in other tables; set has the columns that changed, null where one was cleared, secrets as ********; new and removed are true where a row was made or is gone. A change of many rows comes in several events, all but the last of them with "more":true and without an id.
status: what nodes are doing: nodes, and those of status, statustime, appstatus, appstatustime, updatestatus and updatestatustime that became known.
power: nodes, and power (on, off, crashed of a virtual machine, or what the BMC calls it), when a command or a hypervisor reported it.
notice: nodes, and message: a sentence on what needs somebody's attention and what to do, such as that a hypervisor claims their virtual machines.
hardware: nodes, and what their BMC reports: severity (ok, warning, critical), message (the BMC's own words), source (stream, push, trap, log). Only with the setting events.hardware.
run: run (its id), state (begun, running, finished, cancelled, interrupted), command, user, nodes, ok, failed (counts), progress {done, of, line} of long work, errorcode and error once it has ended. Of commands that work on nodes or outside the database; changes are sent as change. Sent to their user and to those with full rights.
ready: all that came after Last-Event-ID has been sent; revision, time. gap: something can no longer be sent, message says what. dropped: message says why this connection ends; connect again with Last-Event-ID.
A block with only an id is a sign of life, every 15 seconds, and moves Last-Event-ID on.`;

export const eventRows: Endpoint[] = [
  endpoint('GET /events', {
    command: listen,
    reply: 'events',
    query: {
      kinds: `only these, separated by commas: ${eventKinds.join(', ')}`,
      noderange: 'only of these nodes; of runs those that work on one of them',
      after: 'the id of the last event you have, for clients that cannot send the header Last-Event-ID',
      seconds: 'ends the stream after so many seconds',
    },
    args: ({ query, lastEventId }) => ({
      kinds: query['kinds'] === undefined ? undefined : kindsIn(query['kinds']),
      range: query['noderange'],
      after: lastEventId ?? query['after'],
      seconds: query['seconds'] === undefined ? undefined : secondsIn(query['seconds']),
    }),
    summary:
      'What happens, as it happens: changes, status and power of nodes, runs, notices. Resumable by the header Last-Event-ID.',
    description,
    example: { path: '/events', query: { seconds: '1' }, reply: example },
  }),
  endpoint('GET /metrics', {
    command: metrics,
    reply: 'text',
    summary:
      'What the service counts about itself, as Prometheus scrapes it: requests, latencies, runs, BMCs, store, event loop.',
    example: {
      path: '/metrics',
      reply:
        '# HELP muster_runs_under_way Such runs that have not ended.\n# TYPE muster_runs_under_way gauge\nmuster_runs_under_way 0\n',
    },
  }),
];

export const discoveryOfTargets: Endpoint[] = [
  endpoint('GET /sd', {
    command: sd,
    reply: 'object',
    returns: Type.Array(
      Type.Object({ targets: Type.Array(Type.String()), labels: Type.Record(Type.String(), Type.String()) }),
    ),
    query: {
      noderange: 'only these nodes; without it all',
      port: 'port of the exporter, instead of that of the setting metrics.exporterPort',
    },
    args: ({ query }) => ({ range: query['noderange'], port: query['port'] }),
    summary: 'Nodes as targets for Prometheus (http_sd_configs), those with the same groups and labels together.',
    description:
      'Labels: __meta_muster_groups (",all,compute,", so that a pattern can look for ",compute,"), __meta_muster_rack, __meta_muster_room, __meta_muster_os, __meta_muster_arch and __meta_muster_provmethod.',
    example: {
      path: '/sd',
      query: { noderange: 'n1' },
      reply: [
        {
          targets: ['n1:9100'],
          labels: {
            __meta_muster_groups: ',all,compute,',
            __meta_muster_rack: 'r1',
            __meta_muster_room: '',
            __meta_muster_os: '',
            __meta_muster_arch: 'x86_64',
            __meta_muster_provmethod: '',
          },
        },
      ],
    },
  }),
];

function kindsIn(text: string): EventKind[] {
  const kinds = text.split(',').map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !(eventKinds as readonly string[]).includes(kind));
  if (unknown !== undefined)
    throw new Fault('invalid', `There are no events of the kind "${unknown}"; there are ${eventKinds.join(', ')}.`);
  return eventKinds.filter((kind) => kinds.includes(kind));
}

const mostSeconds = 1_000_000;

function secondsIn(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= 0 && seconds <= mostSeconds) || text.trim() === '')
    throw new Fault('invalid', `seconds must be a number from 0 to ${mostSeconds}.`);
  return seconds;
}
