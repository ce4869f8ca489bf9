import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { matchesTag } from '../../core/entity-tag.ts';
import { Fault } from '../../core/errors.ts';
import { consoleFiles } from '../../core/home.ts';
import type { RestServices } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { faultOf, sendBody, sendFault } from '../http/reply.ts';
import { type HttpRequest, logRequest } from '../http/request-log.ts';
import type { PublicRoute } from './public-routes.ts';

/** Nothing but the console's own files is loaded, nothing is asked but this server, and no text becomes markup. */
const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface ConsoleFile {
  readonly type: string;
  readonly tag: string;
  /** By what a client calls the compression. */
  readonly bodies: ReadonlyMap<'br' | 'gzip' | '', Buffer>;
}

const page = 'index.html';

/** Read by the first who asks: they are small, and a build never changes. */
let known: ReadonlyMap<string, ConsoleFile> | undefined;

function files(): ReadonlyMap<string, ConsoleFile> {
  if (known) return known;
  if (!existsSync(join(consoleFiles, page)))
    throw new Fault(
      'unknown-path',
      'The web console is not built: start muster with bin/muster, or run scripts/build.ts.',
    );
  const names = readdirSync(consoleFiles).filter((name) => types[extname(name)] !== undefined);
  known = new Map(
    names.map((name) => {
      const read = (ending: string): Buffer => readFileSync(join(consoleFiles, `${name}${ending}`));
      const plain = read('');
      const bodies = new Map([
        ['br', read('.br')],
        ['gzip', read('.gz')],
        ['', plain],
      ] as const);
      const tag = `"${createHash('sha256').update(plain).digest('hex').slice(0, 32)}"`;
      return [name, { type: types[extname(name)]!, tag, bodies }];
    }),
  );
  return known;
}

/** The best compression that a client takes. */
function encodingFor({ 'accept-encoding': header = '' }: IncomingHttpHeaders): 'br' | 'gzip' | '' {
  const taken = new Set(
    [header]
      .join(',')
      .toLowerCase()
      .split(',')
      .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
      .map((part) => part.split(';', 1)[0]!.trim()),
  );
  return taken.has('br') ? 'br' : taken.has('gzip') ? 'gzip' : '';
}

function answer(name: string, { headers }: HttpRequest, response: ServerResponse): void {
  const all = files();
  // What is no file is a page of the console, which it finds itself.
  if (!all.has(name) && extname(name) in types) throw new Fault('unknown-path', `The web console has no file ${name}.`);
  const isFile = all.has(name) && name !== page;
  const { type, tag, bodies } = all.get(isFile ? name : page)!;
  const sent: Record<string, string | number> = {
    'Content-Type': type,
    'Content-Security-Policy': consolePolicy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': isFile ? 'public, max-age=31536000, immutable' : 'no-cache',
    ETag: tag,
    Vary: 'Accept-Encoding',
  };
  if (matchesTag(headers['if-none-match'], tag)) {
    response.writeHead(304, sent);
    response.end();
    return;
  }
  const encoding = encodingFor(headers);
  if (encoding !== '') sent['Content-Encoding'] = encoding;
  sendBody(response, 200, sent, bodies.get(encoding)!);
}

/** The files of the web console, and its page for every path below it. */
export function consoleRoutes({ log }: RestServices, root: Root): PublicRoute[] {
  const route = (path: string): PublicRoute => ({
    path,
    answer(request, response) {
      try {
        answer(request.params['file'] ?? '', request, response);
      } catch (error) {
        const fault = faultOf(error, log, request.id);
        sendFault(response, root, fault, { 'X-Request-Id': request.id });
        logRequest(log, request, response, { fault });
      }
    },
  });
  return [route('/console'), route('/console/*file')];
}
