import type { AddressInfo } from 'node:net';
import { createServer } from 'node:https';
import { certificateMaker } from '../../lab/redfish/certificate.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Said {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Scripted {
  readonly port: number;
  readonly certificate: string;
  readonly asked: Asked[];
  stop(): Promise<void>;
}

/** An HTTPS server that answers as the test says; a string is sent as it is. */
export async function scripted(address: string, answer: (asked: Asked) => Said | Promise<Said>): Promise<Scripted> {
  const maker = await certificateMaker();
  const certificate = await maker.make(address);
  const asked: Asked[] = [];
  const server = createServer({ cert: certificate, key: maker.key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void respond());
    const respond = async (): Promise<void> => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
      asked.push(one);
      const { status, body, headers: more } = await answer(one);
      response.writeHead(status, more);
      response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    };
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    certificate,
    asked,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
