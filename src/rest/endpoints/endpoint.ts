import { type TProperties, type TSchema, Type } from 'typebox';
import type { OidcLogins, SiteAccounts } from '../../accounts/index.ts';
import type { AnyCommand, Command } from '../../commands/command.ts';
import type { Logger } from '../../core/log.ts';
import type { DispatchServices } from '../../dispatch/request.ts';
import type { ClientFiles } from '../../nodes/index.ts';
import type { Authenticator } from '../http/authenticate.ts';
import type { Concurrency, Connections } from '../http/connections.ts';
import type { BodyBudgets } from '../http/incoming-body.ts';
import type { RequestMeter, RequestMeters } from '../http/request-log.ts';
import type { HttpSettings, LimitSettings, XcatwsSettings } from '../http/settings.ts';
import type { Root } from './roots.ts';

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

/** `object`: what the row's `returns` says, else what its example shows; `objects`: records of texts. */
export type ReplyShape = 'none' | 'attributes' | 'list' | 'lines' | 'object' | 'objects' | 'text' | 'events';

/** What of a request becomes arguments. */
export interface Input {
  readonly root: Root;
  /** The path's segments by name, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The JSON body without credentials and the common parameters. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The row's own query parameters that were sent. */
  readonly query: Readonly<Record<string, string>>;
  /** The header Last-Event-ID, of rows that send events. */
  readonly lastEventId: string | undefined;
  /** Of rows that take an archive: what came in it; undefined in a dry run, for which none is read. */
  readonly files: Pick<ClientFiles, 'directory' | 'names'> | undefined;
  /** X-Expect-Nodes was sent. */
  readonly expectsNodes: boolean;
  /** The connection is to become a WebSocket. */
  readonly isUpgrade: boolean;
  /** Of requests with the cookie of a session: what those of them that change something have to show. */
  readonly csrf: string | undefined;
}

/** One row of the specification's tables. Router, checks, audit, OpenAPI document and reference page are made from it. */
export interface Endpoint {
  readonly method: Method;
  /** With `{name}` for segments. */
  readonly path: string;
  readonly command: AnyCommand;
  readonly reply: ReplyShape;
  /** What a reply of the shape `object` is, member by member. */
  readonly returns?: TSchema;
  /** Members of the body; an object that is open takes attributes. */
  readonly body?: TSchema;
  /** Query parameters of its own, with what they mean. */
  readonly query?: Readonly<Record<string, string>>;
  args(input: Input): unknown;
  /** The command and its arguments, where the body decides which; `command` is then the usual one. */
  choose?(input: Input): Chosen;
  /** The segment, or the query parameter, that names nodes or objects. */
  readonly range?: string;
  readonly summary: string;
  readonly description?: string;
  readonly example: Example;
  /** The type of objects whose attributes the body has, or the reply. */
  readonly defines?: string;
  /** How the lines of nodes become a reply that is one list. */
  together?(lines: ReadonlyMap<string, readonly string[]>): readonly string[];
  /** The specification puts a secret into the path. */
  readonly secretsInPath?: true;
  /** Offered at this root only. */
  readonly only?: '/muster';
  /** Takes large bodies. */
  readonly bulk?: boolean;
  /** It may become a WebSocket. */
  readonly upgrades?: true;
  /** Its body is a tar archive of files, and no JSON. */
  readonly archive?: true;
  /** Only account and password count; a token that is sent along does not. `first`: it does where there is no account, and tokens have limits. */
  readonly byAccount?: true | 'first';
  /** Only for callers who used a token. */
  readonly needsToken?: boolean;
  /** It begins a session of a browser, which no page of another site may do, or ends it. */
  readonly session?: 'begins' | 'ends';
}

export interface Chosen {
  readonly command: AnyCommand;
  readonly args: unknown;
}

interface Example {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly reply?: unknown;
}

type Row<Args> = Omit<Endpoint, 'method' | 'path' | 'command' | 'args' | 'reply' | 'example'> & {
  readonly command: Command<Args>;
  /** Absent: it takes none. */
  args?(input: Input): Args;
  /** Absent: the reply has no body. */
  readonly reply?: ReplyShape;
  /** Without a path: that of the row, for node n1. */
  readonly example?: Partial<Example>;
};

/** Declares the row at `PUT /nodes/{noderange}/power`; the arguments must be those of the command. `{noderange}` is its range. */
export function endpoint<Args>(at: `${Method} ${string}`, row: Row<Args>): Endpoint {
  const [method, path = ''] = at.split(' ', 2);
  const range = path.includes('{noderange}') ? { range: 'noderange' } : {};
  const example = { path: path.replace('{noderange}', 'n1'), ...row.example };
  return { reply: 'none', args: () => ({}), ...range, ...row, example, method, path } as unknown as Endpoint;
}

/** The nodes of the path. What works on them wants at least one. */
export const nodesOf = ({ params }: Input) => ({ range: params['noderange']!, refuseEmpty: true }) as const;

/** A body with these members and no others. */
export const members = <P extends TProperties>(known: P, description?: string) =>
  Type.Object(known, { additionalProperties: false, ...(description === undefined ? {} : { description }) });

/** As what the lack of a member counts, which the roots answer differently. */
export type MemberLack = 'missing-action' | 'missing-member';

/** A member without which there is nothing to do. */
export const requiredText = (lack: MemberLack, description: string) => Type.String({ description, 'x-lack': lack });

/** A body with members of any name, such as attributes. */
export const anyMembers = (description: string, each: TSchema | true = true) =>
  Type.Object({}, { additionalProperties: each, description });

/** A row as it is offered at a root. */
export interface Route {
  readonly services: RestServices;
  readonly root: Root;
  readonly endpoint: Endpoint;
  readonly meter: RequestMeter;
}

/** What the REST interface needs of the other parts. */
export interface RestServices extends DispatchServices {
  readonly authenticator: Authenticator;
  readonly siteAccounts: SiteAccounts;
  /** Logins at a provider of OpenID Connect, if one is set. */
  readonly oidc: OidcLogins | undefined;
  readonly concurrency: Concurrency;
  readonly connections: Connections;
  readonly bodies: BodyBudgets;
  readonly meters: RequestMeters;
  readonly log: Logger;
  readonly limits: LimitSettings;
  readonly xcatws: XcatwsSettings;
  readonly http: HttpSettings;
  readonly version: string;
}
