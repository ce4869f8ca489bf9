import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkOf } from '../../access/addresses.ts';
import type { OidcLogin, OidcLogins } from '../../accounts/index.ts';
import type { AnyCommand } from '../../commands/command.ts';
import { gettoken, startsession } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { dispatch } from '../../dispatch/dispatch.ts';
import type { Outcome } from '../../dispatch/request.ts';
import type { PublicRoute } from '../describe/public-routes.ts';
import type { RestServices } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { faultOf, jsonType, sendBody, sendFault } from './reply.ts';
import { type HttpRequest, logRequest } from './request-log.ts';
import { endedFlowCookie, flowCookie, flowIn, sessionCookie } from './session-cookie.ts';

const longestBody = 16_384;
/** Questions to the provider that one network causes in a minute. */
const mostQuestions = 300;
const note = 'by OpenID Connect';
const [tokenCommand, sessionCommand] = [gettoken, startsession] as unknown as readonly [AnyCommand, AnyCommand];

/** A page and no redirect: what a browser asks for because of the provider comes without the cookie of the session. */
const donePage =
  '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>muster</title><p>You are logged in. <a href="/">Go on</a></html>\n';

/** Logins at a provider of OpenID Connect: whoever asks has no credentials yet. */
export function oidcRoutes(services: RestServices, root: Root): PublicRoute[] {
  if (!root.takesSessions) return [];
  const allowance = new Allowance();
  type Work = (oidc: OidcLogins, request: HttpRequest, response: ServerResponse) => Promise<void>;
  const route = (method: string, path: string, command: AnyCommand, work: Work): PublicRoute => ({
    path,
    methods: [method],
    answer(request, response) {
      const answered = async (): Promise<void> => {
        const { oidc } = services;
        if (!oidc) throw new Fault('denied', 'No provider of OpenID Connect is set here (oidc.issuer).');
        allowance.take(networkOf(request.ip));
        await work(oidc, request, response);
      };
      answered().catch(async (error: unknown) => {
        const fault = faultOf(error, services.log, request.id);
        if (services.audit && fault.kind === 'unauthenticated')
          await services.refusals.note(refusalOf(request, command.name)).catch(() => undefined);
        sendFault(response, root, fault, { 'X-Request-Id': request.id });
        logRequest(services.log, request, response, { fault });
      });
    },
  });
  return [
    route('POST', '/session/oidc/device', tokenCommand, async (oidc, request, response) => {
      const { flow } = await bodyOf(request.raw);
      if (flow === undefined) return sendJson(response, 200, await oidc.beginDevice());
      const login = await oidc.askDevice(services.siteAccounts, flow);
      if (typeof login === 'number') return sendJson(response, 200, { pending: true, interval: login });
      const { answer } = await given(services, request, login, tokenCommand);
      sendJson(response, 201, { user: login.user, ...('value' in answer ? (answer.value as object) : {}) });
    }),
    route('GET', '/session/oidc', sessionCommand, async (oidc, _request, response) => {
      const { url, flow } = await oidc.beginBrowser();
      sendBody(response, 303, { Location: url, 'Set-Cookie': flowCookie(flow), 'Cache-Control': 'no-store' }, '');
    }),
    route('GET', '/session/oidc/callback', sessionCommand, async (oidc, request, response) => {
      const flow = flowIn(request.headers.cookie);
      if (flow === undefined)
        throw new Fault('unauthenticated', [
          'Authentication failure',
          'This browser has begun no login here. Begin at /muster/session/oidc.',
        ]);
      // Whatever comes of it, the same answer of the provider counts once.
      response.appendHeader('Set-Cookie', endedFlowCookie);
      const mark = request.url.indexOf('?');
      const query = mark < 0 ? '' : request.url.slice(mark);
      const login = await oidc.endBrowser(services.siteAccounts, query, flow);
      const { answer } = await given(services, request, login, sessionCommand);
      if ('session' in answer && answer.session) response.appendHeader('Set-Cookie', sessionCookie(answer.session));
      sendBody(
        response,
        200,
        { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
        Buffer.from(donePage),
      );
    }),
  ];
}

/** The command for whoever has logged in, with its place in the audit log and among the runs. */
async function given(
  services: RestServices,
  request: HttpRequest,
  { user, login }: OidcLogin,
  command: AnyCommand,
): Promise<Outcome> {
  return dispatch(services, {
    command,
    args: {},
    words: [],
    line: '',
    range: '',
    user,
    scope: undefined,
    client: request.ip,
    token: undefined,
    login,
    note,
    id: request.id,
    dryRun: false,
    expectNodes: undefined,
    revision: undefined,
    signal: () => never,
    detached: false,
    began: () => undefined,
  });
}

const never = new AbortController().signal;

const sendJson = (response: ServerResponse, status: number, value: object): void =>
  sendBody(response, status, { 'Content-Type': jsonType, 'Cache-Control': 'no-store' }, `${JSON.stringify(value)}\n`);

async function bodyOf(request: IncomingMessage): Promise<{ readonly flow?: string }> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > longestBody) throw new Fault('too-large', `The body is larger than ${longestBody} characters.`);
  }
  let body: unknown;
  try {
    body = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new Fault('malformed', 'The body is not valid JSON.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Fault('malformed', 'The body must be a JSON object.');
  const unknown = Object.keys(body).find((name) => name !== 'flow');
  if (unknown !== undefined)
    throw new Fault('unknown-member', `The body has the unknown member "${unknown}"; known is flow.`);
  const { flow } = body as { readonly flow?: unknown };
  if (flow !== undefined && typeof flow !== 'string') throw new Fault('malformed', '"flow" must be a string.');
  return flow === undefined ? {} : { flow };
}

const refusalOf = (request: HttpRequest, command: string) => ({
  time: Date.now(),
  user: '',
  client: request.ip,
  command,
  noderange: '',
  args: '',
  status: `Denied (authentication, ${note})`,
  request: request.id,
});

const minute = 60_000;

/** Strangers cause no more than so many questions to the provider. */
class Allowance {
  readonly #asked = new Map<string, number>();
  #since = 0;

  take(network: string): void {
    const now = performance.now();
    if (now - this.#since > minute) {
      this.#asked.clear();
      this.#since = now;
    }
    const asked = (this.#asked.get(network) ?? 0) + 1;
    if (asked > mostQuestions || this.#asked.size > 10_000)
      throw new Fault('unavailable', 'Too many logins were begun from here; try again in a minute.', {
        retryAfter: 60,
      });
    this.#asked.set(network, asked);
  }
}
