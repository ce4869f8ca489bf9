// What replies are, from the rows of the interface that declare them. Types only: nothing of the server is built into the console.
import type { Static } from 'typebox';
import type { RunHead } from '../../src/commands/command.ts';
import type { EventKind, HardwareNews, RunNews } from '../../src/core/event-kinds.ts';
import type { entryReply, listReply } from '../../src/rest/endpoints/changes.ts';
import type { consoleOfNode, openConsole } from '../../src/rest/endpoints/consoles.ts';
import type { doctorReply } from '../../src/rest/endpoints/doctor.ts';
import type { seriesReply } from '../../src/rest/endpoints/series.ts';
import type { serversReply } from '../../src/rest/endpoints/servers.ts';
import type { sessionReply } from '../../src/rest/endpoints/session.ts';

export type { ConsoleMessage, ConsoleRequest } from '../../src/consoles/index.ts';
export type { EventKind, RunHead };
export type Session = Static<typeof sessionReply>;
export type ChangeList = Static<typeof listReply>;
export type ChangeHead = ChangeList['changes'][number];
export type OpenConsole = Static<typeof openConsole>;
export type NodeConsole = Static<typeof consoleOfNode>;
/** Lines of logs, by node. */
export type ConsoleLogs = Readonly<Record<string, readonly string[]>>;
export type NodeSeries = Static<typeof seriesReply>['series'][number];
export type SensorSeries = NodeSeries['sensors'][string];
export type Change = Static<typeof entryReply>;
export type ChangedRow = Change['changes'][number];

export type ServerList = Static<typeof serversReply>;
export type Server = ServerList['servers'][number];
export type Findings = Static<typeof doctorReply>;

/** What came of one node. */
export interface NodeResult {
  readonly node: string;
  readonly value?: unknown;
  readonly error?: string;
  readonly output?: unknown;
}

/** A run as GET /runs/{id} shows it. */
export interface Run extends RunHead {
  readonly results?: readonly NodeResult[];
  readonly underWay?: Readonly<Record<string, string>>;
  readonly lines?: readonly string[];
  readonly error?: readonly string[];
  readonly messages?: readonly string[];
  readonly notes?: readonly string[];
  readonly note?: string;
}

/** Attributes of nodes, by their names. */
export type Attributes = Readonly<Record<string, string>>;
export type NodesReply = Readonly<Record<string, Attributes>>;

/** The member `data` of an event. */
export type ServerEvent = { readonly time: string } & (
  | {
      readonly kind: 'change';
      readonly user: string;
      readonly command: string;
      readonly rows: readonly { readonly table: string; readonly nodes?: readonly string[] }[];
    }
  | {
      readonly kind: 'status';
      readonly nodes: readonly string[];
      readonly status?: string;
      readonly appstatus?: string;
    }
  | { readonly kind: 'power'; readonly nodes: readonly string[]; readonly power: string }
  | { readonly kind: 'notice'; readonly nodes: readonly string[]; readonly message: string }
  | ({ readonly kind: 'hardware'; readonly nodes: readonly string[] } & HardwareNews)
  | ({ readonly kind: 'run' } & RunNews)
  | { readonly kind: 'ready' | 'gap' | 'dropped'; readonly message?: string }
);
