import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tables } from '../../../src/database/tables.ts';
import type { Reply } from '../../harness/client.ts';
import { startServer, type TestServer } from '../../harness/server.ts';
import { addUser } from '../../harness/users.ts';
import type { Request } from './request.ts';
import { account, rowOfRule, type Rule } from './rules.ts';
import { differences, keyText, nodesIn, openWorld, type World } from './state.ts';
import { canary, type Letter, nodeNames, type Ports, type Row, type Rows, worldOf } from './world.ts';

const firstPriority = 10;

/** A running server with the cluster of a letter, which can be brought back to how it began. */
export class Cluster {
  readonly #server: TestServer;
  /** The account's own, and the one that its requests are sent with. */
  readonly #account: string;
  #token: string;
  readonly #database: ReturnType<typeof openWorld>;
  readonly #clear: Rows;
  readonly #hostsFile: string;
  readonly #baseHosts = '127.0.0.1 localhost\n';
  #base: World = {};
  /** Runs of somebody else, and of an account that had the same name. */
  readonly #foreignRuns = { RUN: '', GHOST: '' };
  /** The account's latest run in its time. */
  #ownRun = '';
  /** The event before the account's time. */
  #event = '';
  #rules = 0;
  /** The revision that the account's time begins with. */
  #start = 0;

  private constructor(server: TestServer, token: string, clear: Rows) {
    this.#server = server;
    this.#account = this.#token = token;
    this.#clear = clear;
    this.#hostsFile = join(server.data, 'hosts');
    writeFileSync(this.#hostsFile, this.#baseHosts);
    this.#database = openWorld(join(server.data, 'muster.sqlite'));
  }

  static async start(letter: Letter, ports: Ports, libvirtSocket: string): Promise<Cluster> {
    const server = await startServer({
      environment: {
        MUSTER_REMOTE_PORT: String(ports.ssh),
        MUSTER_REMOTE_CONNECT_SECONDS: '2',
        MUSTER_LIBVIRT_SOCKET: libvirtSocket,
      },
    });
    const ghost = await runOfGhost(server);
    const cluster = new Cluster(server, await addUser(server, account), worldOf(letter, ports));
    cluster.#foreignRuns.GHOST = ghost;
    await cluster.#load();
    return cluster;
  }

  get foreignRuns(): readonly string[] {
    return Object.values(this.#foreignRuns);
  }

  /** Few requests: all rows of a node at once. Last what the site excludes from ranges. */
  async #load(): Promise<void> {
    const byNode = new Map<string, Record<string, Row>>(nodeNames.map((node) => [node, {}]));
    for (const row of this.#clear['nodelist']!) await this.#put('nodelist', row);
    for (const [table, rows] of Object.entries(this.#clear)) {
      const { nodeColumn = '' } = tables.get(table)!;
      for (const row of rows) {
        const { [nodeColumn]: owner = '', ...columns } = row;
        const own = table === 'site' || table === 'nodelist' ? undefined : byNode.get(owner);
        if (own) own[table] = columns;
        else if (table !== 'nodelist' && table !== 'site') await this.#put(table, row);
      }
    }
    for (const [node, rows] of byNode)
      await this.ok('PUT', `/tables/${Object.keys(rows).join(',')}/nodes/${node}`, rows);
    for (const row of this.#clear['site']!) await this.#put('site', row);
    this.#base = this.world();
    this.#foreignRuns.RUN = runIn(await this.#server.call('GET', '/nodes'));
  }

  async #put(table: string, row: Row): Promise<void> {
    const { keys, columns } = tables.get(table)!;
    const body = Object.fromEntries(columns.map((column) => [column, row[column] ?? 'NULL']));
    for (const key of keys) delete body[key];
    await this.#server.ok('PUT', this.#path(table, row), body);
  }

  #path(table: string, row: Row): string {
    const keys = tables.get(table)!.keys.filter((key) => row[key]);
    return `/tables/${table}/rows/${keys.map((key) => `${key}=${encodeURIComponent(row[key]!)}`).join(',')}`;
  }

  world(): World {
    return this.#database.read();
  }

  hosts(): string {
    return readFileSync(this.#hostsFile, 'utf8');
  }

  /** As the administrator. */
  ok(method: string, path: string, body?: unknown): Promise<unknown> {
    return this.#server.ok(method, path, body);
  }

  /** As the account. */
  async call({ row, root, path, query, headers, body }: Request): Promise<Reply> {
    const places: Readonly<Record<string, string>> = {
      ...this.#foreignRuns,
      OWN: this.#ownRun,
      EVENT: this.#event,
    };
    const placed = (text: string): string =>
      text
        .replaceAll(/\b(RUN|GHOST|OWN|EVENT)\b/g, (name) => places[name]!)
        .replace(/CHANGE(\d)/, (_, later: string) => String(this.#start + Number(later)));
    const reply = await this.#server.call(row.method, placed(path), {
      token: this.#token,
      root,
      query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, placed(value)])),
      headers,
      body,
    });
    this.#ownRun = runIn(reply);
    return reply;
  }

  async setRules(rules: readonly Rule[]): Promise<void> {
    const priorities = Array.from({ length: this.#rules }, (_, i) => firstPriority + i);
    if (priorities.length > 0) await this.ok('DELETE', `/policy/${priorities.join(',')}`);
    this.#rules = rules.length;
    if (rules.length > 0)
      await this.ok('PUT', '/policy', Object.fromEntries(rules.map((rule, i) => [firstPriority + i, rowOfRule(rule)])));
  }

  /** The account's requests are sent with a token that is limited to this. Answers whether there is such a token. */
  async limit(limit: Rule | undefined): Promise<boolean> {
    await this.#server
      .ok('DELETE', '/tokens', undefined, { token: this.#token === this.#account ? null : this.#token })
      .catch(() => undefined);
    this.#token = this.#account;
    if (!limit) return true;
    const { commands, noderange } = rowOfRule(limit);
    const made = await this.#server.call('POST', '/tokens', {
      token: this.#account,
      body: { ...(commands && { commands }), ...(noderange && { noderange }) },
    });
    if (made.status >= 500) throw new Error(made.text);
    if (made.status === 201) this.#token = made.json.token.id;
    return made.status === 201;
  }

  /** What the administrator changes in the account's time: every node at once, and back; CHANGE1 and CHANGE2 of requests. */
  async makeHistory(letter: Letter): Promise<void> {
    this.#start = Number((await this.#server.call('GET', '/nodes')).headers['x-muster-revision']);
    const { text } = await this.#server.call('GET', '/events', { query: { seconds: '0' } });
    this.#event = /^id: (\S+)/m.exec(text)![1]!;
    this.#ownRun = 'none';
    const nodes = nodesIn(this.world());
    for (const usercomment of [(node: string) => canary(letter, node, 'past'), () => 'later'])
      await this.ok(
        'PUT',
        '/nodes',
        Object.fromEntries(nodes.map((node) => [node, { usercomment: usercomment(node) }])),
      );
  }

  /** Everything but tokens as it was in the beginning. */
  async reset(): Promise<void> {
    this.#rules = 0;
    const changed = differences(this.#base, this.world()).filter(({ table }) => table !== 'token');
    for (const { table, before, after } of changed) {
      if (before === undefined) await this.ok('DELETE', this.#path(table, after!));
      else {
        const key = keyText(table, before);
        const clear = (this.#clear[table] ?? []).find((row) => keyText(table, row) === key);
        await this.#put(table, clear ?? before);
      }
    }
    this.#base = this.world();
    if (this.hosts() !== this.#baseHosts) writeFileSync(this.#hostsFile, this.#baseHosts);
  }

  async stop(): Promise<void> {
    this.#database.close();
    await this.#server.stop();
  }
}

const runIn = ({ headers }: Reply): string => String(headers['x-muster-run']);

/** What somebody did who had the account's name, and is no longer there. */
async function runOfGhost(server: TestServer): Promise<string> {
  const token = await addUser(server, account);
  const run = runIn(await server.call('POST', '/services/host', { token, body: {} }));
  await server.ok('DELETE', `/tables/passwd/rows/key=xcat,username=${account}`);
  return run;
}
