import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface Request {
  readonly url: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
}

/** How a request is answered instead; undefined: as usual. */
export type Trick = (request: IncomingMessage, response: ServerResponse, body: Buffer) => true | undefined;

export interface RoughRegistry {
  readonly address: string;
  readonly port: number;
  readonly requests: Request[];
  /** Applies to blobs and manifests, until it is set again. */
  trick: Trick | undefined;
  stop(): Promise<void>;
}

/** Serves layouts below a directory as a registry that checks nothing, on loopback without TLS. */
export async function startRoughRegistry(directory: string): Promise<RoughRegistry> {
  const requests: Request[] = [];
  const registry: { trick: Trick | undefined } = { trick: undefined };
  const server = createServer((request, response) => {
    const { authorization, range } = request.headers;
    requests.push({ url: request.url!, authorization, range });
    const [, name, kind, selector] = /^\/v2\/([\w-]+)\/(manifests|blobs)\/(.+)$/.exec(request.url!) ?? [];
    if (name === undefined || !existsSync(join(directory, name))) {
      if (registry.trick?.(request, response, Buffer.alloc(0))) return;
      response.writeHead(404).end('{"errors":[{"code":"NAME_UNKNOWN","message":"no\\u001b[31m such name"}]}');
      return;
    }
    const index = JSON.parse(readFileSync(join(directory, name, 'index.json'), 'utf8')) as {
      manifests: { digest: string; mediaType: string }[];
    };
    const [top] = index.manifests;
    const digest = kind === 'manifests' && !selector!.startsWith('sha256:') ? top!.digest : selector!;
    const file = join(directory, name, 'blobs/sha256', digest.slice('sha256:'.length));
    if (!/^sha256:[0-9a-f]{64}$/.test(digest) || !existsSync(file)) {
      response.writeHead(404).end('{"errors":[{"code":"BLOB_UNKNOWN"}]}');
      return;
    }
    const body = readFileSync(file);
    if (registry.trick?.(request, response, body)) return;
    response.writeHead(200, {
      'content-type': kind === 'manifests' ? top!.mediaType : 'application/octet-stream',
      'content-length': body.length,
    });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(registry, {
    address: `127.0.0.1:${port}`,
    port,
    requests,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

export const isBlob = ({ url }: { readonly url?: string | undefined }): boolean => url?.includes('/blobs/') ?? false;
