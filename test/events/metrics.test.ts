import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, defineNodes } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await defineNodes(server, 'n1-n2', { groups: 'all,compute', rack: 'r1' });
  await defineNodes(server, 'login1', { groups: 'all' });
});
afterAll(() => server?.stop());

const metrics = async (): Promise<string> => (await server.call('GET', '/metrics')).text;
const valueOf = (text: string, line: string): number =>
  Number(
    text
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length + 1),
  );

describe('GET /metrics', () => {
  it('is text that promtool finds nothing wrong with', async () => {
    const reply = await server.call('GET', '/metrics');
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(execFileSync('promtool', ['check', 'metrics'], { input: reply.text, encoding: 'utf8' })).toBe('');
  });

  it('counts requests by row and status, with their latencies', async () => {
    const row = 'root="/muster",method="GET",path="/nodes/{noderange}"';
    const before = await metrics();
    for (let i = 0; i < 3; i++) await server.call('GET', '/nodes/n1');
    await server.call('GET', '/nodes/nosuch');
    await server.call('GET', '/no/such/path');
    const after = await metrics();
    const grown = (line: string): number => valueOf(after, line) - (valueOf(before, line) || 0);
    expect(grown(`muster_http_requests_total{${row},status="200"}`)).toBe(3);
    expect(grown(`muster_http_requests_total{${row},status="404"}`)).toBe(1);
    expect(grown(`muster_http_request_duration_seconds_count{${row}}`)).toBe(4);
    expect(grown(`muster_http_request_duration_seconds_bucket{${row},le="+Inf"}`)).toBe(4);
    expect(grown('muster_http_requests_total{root="/muster",method="any",path="none",status="404"}')).toBe(1);
    expect(valueOf(after, 'muster_store_nodes')).toBe(3);
  });

  it('counts runs and what came of their nodes', async () => {
    await server.call('PUT', '/nodes/n1-n2/power', { body: { action: 'stat' } });
    const text = await metrics();
    expect(valueOf(text, 'muster_runs_total{command="rpower",result="failed"}')).toBe(1);
    expect(valueOf(text, 'muster_run_nodes_total{command="rpower",result="failed"}')).toBe(2);
    expect(valueOf(text, 'muster_runs_under_way')).toBe(0);
  });

  it('is for those whom a rule for every node allows it', async () => {
    const token = await addUser(server, 'watcher');
    expect((await server.call('GET', '/metrics', { token })).status).toBe(403);
    await server.ok('POST', '/policy/60', { name: 'watcher', commands: 'metrics,sd', noderange: 'n1', rule: 'allow' });
    expect((await server.call('GET', '/metrics', { token })).status).toBe(403);
    expect((await server.call('GET', '/sd', { token })).status).toBe(403);
    expect((await server.call('GET', '/sd', { token, query: { noderange: 'n1' } })).status).toBe(200);
    expect((await server.call('GET', '/sd', { token, query: { noderange: 'n2' } })).status).toBe(403);
    await server.ok('PUT', '/policy/60', { noderange: '' });
    expect((await server.call('GET', '/metrics', { token })).status).toBe(200);
  });
});

describe('GET /sd', () => {
  it('has nodes with the same groups and labels together', async () => {
    const labels = (groups: string, rack: string) => ({
      __meta_muster_groups: groups,
      __meta_muster_rack: rack,
      __meta_muster_room: '',
      __meta_muster_os: '',
      __meta_muster_arch: '',
      __meta_muster_provmethod: '',
    });
    expect(await server.ok('GET', '/sd?port=1234')).toEqual([
      { targets: ['login1:1234'], labels: labels(',all,', '') },
      { targets: ['n1:1234', 'n2:1234'], labels: labels(',all,compute,', 'r1') },
    ]);
    expect((await server.ok('GET', '/sd?noderange=n2'))[0].targets).toEqual(['n2:9100']);
    expect((await server.call('GET', '/sd', { query: { port: '99999' } })).status).toBe(403);
  });
});

describe('Prometheus', () => {
  const directory = temporaryDirectory();
  let prometheus: ChildProcess | undefined;
  let exporter: Server | undefined;
  let output = '';
  afterAll(async () => {
    prometheus?.kill('SIGTERM');
    if (prometheus) await exitOf(prometheus);
    exporter?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  // oxlint-disable-next-line no-explicit-any -- replies of Prometheus
  const ask = async (port: number, path: string): Promise<any> =>
    fetch(`http://127.0.0.1:${port}/api/v1/${path}`).then(
      (reply) => reply.json(),
      () => undefined,
    );

  it('scrapes muster with TLS and a token, and nodes that it finds by /sd', async () => {
    exporter = createServer((_request, response) => response.end('node_load1 0.5\n')).listen(0, '127.0.0.1');
    await new Promise((resolve) => exporter!.once('listening', resolve));
    const { port: exporterPort } = exporter.address() as AddressInfo;
    const free = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => free.once('listening', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    writeFileSync(join(directory, 'token'), server.token);
    const access = `authorization: { type: Bearer, credentials_file: ${directory}/token }, tls_config: { ca_file: ${server.data}/tls/ca.pem }`;
    const config = `
scrape_configs:
  - { job_name: muster, scheme: https, metrics_path: /muster/metrics, scrape_interval: 1s, ${access}, static_configs: [{ targets: ['127.0.0.1:${server.port}'] }] }
  - job_name: nodes
    scrape_interval: 1s
    http_sd_configs: [{ url: 'https://127.0.0.1:${server.port}/muster/sd?noderange=compute&port=${exporterPort}', refresh_interval: 1s, ${access} }]
    relabel_configs:
      - { source_labels: [__meta_muster_groups], regex: '.*,compute,.*', action: keep }
      - { source_labels: [__address__], regex: '(.*):.*', target_label: instance }
      - { source_labels: [__meta_muster_rack], target_label: rack }
      - { source_labels: [__address__], regex: '.*:(.*)', replacement: '127.0.0.1:$1', target_label: __address__ }
`;
    writeFileSync(join(directory, 'prometheus.yml'), config);
    execFileSync('promtool', ['check', 'config', join(directory, 'prometheus.yml')]);
    prometheus = spawn('prometheus', [
      `--config.file=${directory}/prometheus.yml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    for (const stream of [prometheus.stdout!, prometheus.stderr!])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const result = async (query: string) =>
      (await ask(port, `query?query=${encodeURIComponent(query)}`))?.data?.result ?? [];
    await expect
      .poll(() => result('muster_store_nodes'), { timeout: 60_000, interval: 300, message: output })
      .toEqual([expect.objectContaining({ value: [expect.any(Number), '3'] })]);
    const loads = async () =>
      (await result('node_load1'))
        .map(({ metric }: { metric: Record<string, string> }) => [metric['instance'], metric['rack']])
        .sort();
    await expect.poll(loads, { timeout: 60_000, interval: 300 }).toEqual([
      ['n1', 'r1'],
      ['n2', 'r1'],
    ]);
  });
});
