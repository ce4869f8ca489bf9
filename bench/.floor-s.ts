/** The least a fastify HTTPS route can do: it answers with the bytes of a file. Arguments: the file, the TLS directory. */
import fastify from 'fastify';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const [file = '', tls = ''] = process.argv.slice(2);
const body = readFileSync(file,'utf8');
const read = (name: string): Buffer => readFileSync(join(tls, name));
const app = fastify({ https: { cert: read('server.pem'), key: read('server.key'), minVersion: 'TLSv1.2' } });
app.get('/body', (_request, reply) => reply.header('Content-Type', 'application/json; charset=utf-8').send(body));
await app.listen({ host: '127.0.0.1', port: 0 });
console.log(`ready ${(app.server.address() as AddressInfo).port}`);
process.once('SIGTERM', () => process.exit(0));
