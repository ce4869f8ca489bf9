import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { queryOutside } from '../harness/raw-sqlite.ts';
import {
  agentFor,
  callJson,
  login,
  removeDirectory,
  rootPassword,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const concurrent = 300;
const rounds = 3;

interface Write {
  readonly method: 'PUT' | 'POST';
  readonly range: string;
  readonly value: string;
  /** How many nodes it makes or changes. */
  readonly nodes: number;
  /** What the reply said; undefined while there was none. */
  revision: number | undefined;
}

/** Worker `i` writes again and again: to a node of its own, to ten nodes it shares with nine others, or new nodes. */
function nextWrite(i: number, round: number, turn: number): Write {
  const value = `r${round}w${i}t${turn}`;
  const write = (method: Write['method'], range: string, nodes: number): Write => ({
    method,
    range,
    value,
    nodes,
    revision: undefined,
  });
  if (i < 180) return write('PUT', `s${i}`, 1);
  if (i < 240) return write('PUT', `m${i % 6}n[0-9]`, 10);
  if (i < 285) return write('POST', `p${value}`, 1);
  return write('POST', `p${value}n[0-9]`, 10);
}

/** Another process strikes, whatever this one is busy with, so that the moment can be any. */
const killSometime = (pid: number): Promise<unknown> =>
  once(spawn('sh', ['-c', `sleep ${randomInt(0, 800) / 1_000}; kill -KILL ${pid}`]), 'close');

/** Keeps 300 writes on their way and kills the server at some moment. */
async function writeUntilKilled(service: Service, token: string, round: number): Promise<Write[]> {
  const agent = agentFor(service, { maxSockets: concurrent });
  // Opens all connections first, so that the writes are really concurrent.
  await Promise.all(Array.from({ length: concurrent }, () => callJson(service, agent, token, 'GET', '/muster/health')));
  const writes: Write[] = [];
  let killer: Promise<unknown> | undefined;
  const worker = async (i: number): Promise<void> => {
    for (let turn = 0; ; turn++) {
      const write = nextWrite(i, round, turn);
      writes.push(write);
      const body = { groups: 'all', usercomment: write.value };
      const reply = await callJson(service, agent, token, write.method, `/muster/nodes/${write.range}`, body).catch(
        () => undefined,
      );
      if (!reply) return;
      if (reply.status !== 200 && reply.status !== 201) throw new Error(`${reply.status} ${reply.body}`);
      write.revision = Number(reply.headers['x-muster-revision']);
      killer ??= killSometime(service.process.pid!);
    }
  };
  await Promise.all(Array.from({ length: concurrent }, (_, i) => worker(i)));
  await Promise.all([service.exited, killer]);
  agent.destroy();
  return writes;
}

interface JournalEntry {
  readonly revision: number;
  /** JSON texts; a large change set is kept in several. */
  readonly changes: readonly string[];
}

const databaseOf = (data: string): string => join(data, 'muster.sqlite');

function journalOf(data: string): JournalEntry[] {
  const rows = queryOutside(databaseOf(data), 'select revision, changes from muster_journal order by revision');
  return [...Map.groupBy(rows, ({ revision }) => Number(revision))].map(([revision, parts]) => ({
    revision,
    changes: parts.map(({ changes }) => String(changes)),
  }));
}

/** The nodes' comments as the journal says they must be. */
function replayed(journal: readonly JournalEntry[]): Map<string, string> {
  type Change = [key: string, before: unknown, after: { comments?: string } | null];
  const comments = new Map<string, string>();
  for (const text of journal.flatMap(({ changes }) => changes)) {
    for (const [node, , after] of (JSON.parse(text) as { nodelist?: Change[] }).nodelist ?? []) {
      if (after?.comments !== undefined) comments.set(node, after.comments);
    }
  }
  return comments;
}

async function nodeComments(service: Service, agent: Agent, token: string): Promise<Map<string, string>> {
  const reply = await callJson(service, agent, token, 'GET', '/muster/nodes/ALLRESOURCES/attrs/usercomment');
  expect(reply.status).toBe(200);
  const nodes = JSON.parse(reply.body) as Record<string, { usercomment?: string }>;
  return new Map(
    Object.entries(nodes).flatMap(([name, { usercomment }]) => (usercomment ? [[name, usercomment]] : [])),
  );
}

describe('a server killed in the middle of 300 concurrent writes', () => {
  let data: string;
  let service: Service;
  let token: string;

  beforeEach(async () => {
    data = temporaryDirectory();
    service = await startService(data);
    const agent = agentFor(service);
    token = await login(service, agent, 'root', rootPassword);
    const made = await callJson(service, agent, token, 'POST', '/muster/nodes/s[0-179],m[0-5]n[0-9]', {
      groups: 'all',
    });
    expect(made.status).toBe(201);
    agent.destroy();
  });

  afterEach(async () => {
    await stopService(service);
    removeDirectory(data);
  });

  test.for(Array.from({ length: rounds }, (_, i) => i + 1))(
    'has all of every acknowledged write and no half write after a restart, round %i',
    async (round) => {
      const revisionBefore = journalOf(data).at(-1)?.revision ?? 0;
      const writes = await writeUntilKilled(service, token, round);
      service = await startService(data);
      const agent = agentFor(service);
      const journal = journalOf(data);
      const comments = await nodeComments(service, agent, token);
      const acknowledged = writes.filter(({ revision }) => revision !== undefined);
      const unanswered = writes.length - acknowledged.length;

      // The journal leads without a gap to the revision the server goes on from.
      expect(journal.map(({ revision }) => revision)).toEqual(journal.map((_, i) => i + 1));
      const written = journal.filter(({ revision }) => revision > revisionBefore);
      expect(written.length).toBeGreaterThanOrEqual(acknowledged.length);
      expect(written.length).toBeLessThanOrEqual(writes.length);
      expect(unanswered).toBeGreaterThan(0);

      // Each acknowledged write is in the journal under the revision its reply named, with all its nodes.
      const changesAt = new Map(journal.map(({ revision, changes }) => [revision, changes.join()]));
      for (const { revision, value, nodes } of acknowledged) {
        expect(changesAt.get(revision!)?.split(`"comments":"${value}"`).length).toBe(nodes + 1);
      }

      // The tables hold exactly what the journal says, and what the server shows is what the tables hold.
      const stored = queryOutside(databaseOf(data), "select node, comments from nodelist where comments <> ''");
      const expected = replayed(journal);
      expect(new Map(stored.map(({ node, comments: text }) => [node, text]))).toEqual(expected);
      expect(comments).toEqual(expected);

      // No write, acknowledged or not, reached only some of its nodes.
      for (let group = 0; group < 6; group++) {
        const values = Array.from({ length: 10 }, (_, i) => comments.get(`m${group}n${i}`));
        expect(new Set(values).size).toBe(1);
      }
      for (const { method, range, value, nodes, revision } of writes.filter((write) => write.method === 'POST')) {
        const names = nodes === 1 ? [range] : Array.from({ length: 10 }, (_, i) => `p${value}n${i}`);
        const present = names.filter((name) => comments.get(name) === value).length;
        expect([method, range, revision === undefined ? [0, nodes].includes(present) : present === nodes]).toEqual([
          method,
          range,
          true,
        ]);
      }

      // The next write gets the next revision.
      const next = await callJson(service, agent, token, 'PUT', '/muster/nodes/s0', { usercomment: `after${round}` });
      expect(Number(next.headers['x-muster-revision'])).toBe(journal.length + 1);
      agent.destroy();
    },
  );
});
