import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { path } from '../client.ts';
import type { Call, Invocation } from '../command.ts';
import { UsageError } from '../errors.ts';
import { nodeFromServer } from '../from-server.ts';
import type { NodeReport } from '../nodes/work.ts';
import type { Step } from './step.ts';

interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  readonly names: string;
  readonly ends: string;
  readonly fingerprint: string;
}

interface Found {
  readonly shown?: Certificate;
  readonly others?: readonly Certificate[];
}

const dayOf = (time: string): string => time.slice(0, 10);
const lineOf = ({ subject, issuer, names, ends }: Certificate): string =>
  `ends ${dayOf(ends)}, for ${names || 'no name'}, subject ${subject}, signed by ${issuer === subject ? 'itself' : issuer}`;

const done: NodeReport = {
  lines(value) {
    const { certificate, ends } = value as { readonly certificate: string; readonly ends: string };
    return [`${certificate}, ends ${dayOf(ends)}`];
  },
  question: 'Replace the certificates of the BMCs of',
};

/** Certificates of BMCs. */
export const certificateSteps: Readonly<Record<string, Step>> = {
  certificates: {
    name: false,
    options: [],
    request: (_invocation, _call, range) => ({ method: 'GET', at: path('nodes', range, 'sp', 'certificates') }),
    report: {
      lines(value) {
        const { shown, others = [] } = value as Found;
        return [...(shown ? [lineOf(shown)] : []), ...others.map((each) => `not shown: ${lineOf(each)}`)];
      },
    },
  },
  renew: {
    name: false,
    options: ['within'],
    request(_invocation, call, range) {
      const within = call.value('within');
      if (within !== undefined && !/^\d{1,4}$/.test(within))
        throw new UsageError(`--within takes a number of days, and not "${within}".`);
      const body = within === undefined ? {} : { within: Number(within) };
      return { method: 'POST', at: path('nodes', range, 'sp', 'certificates'), body };
    },
    report: done,
  },
  request: {
    name: false,
    options: ['subject', 'directory'],
    request(_invocation, call, range) {
      directoryOf(call);
      const subject = call.value('subject');
      const body = subject === undefined ? {} : { subject };
      return { method: 'POST', at: path('nodes', range, 'sp', 'certificaterequests'), body };
    },
    report: (call) => ({
      lines(value, node) {
        const directory = directoryOf(call);
        mkdirSync(directory, { recursive: true });
        const file = join(directory, `${nodeFromServer(node)}.csr`);
        writeFileSync(file, (value as { readonly request: string }).request);
        return [`wrote ${file}`];
      },
    }),
  },
  install: {
    name: false,
    options: ['directory'],
    async request(invocation, call, range) {
      const directory = directoryOf(call);
      const certificates: Record<string, string> = {};
      for (const node of await nodesIn(invocation, range)) certificates[node] = readCertificate(directory, node);
      return { method: 'PUT', at: path('nodes', range, 'sp', 'certificates'), body: { certificates } };
    },
    report: done,
  },
};

function directoryOf(call: Call): string {
  const directory = call.value('directory');
  if (directory === undefined)
    throw new UsageError('Say with --directory where the files are: NODE.csr for requests, NODE.pem for certificates.');
  return directory;
}

const nodesIn = async ({ client }: Invocation, range: string): Promise<readonly string[]> =>
  ((await client.get(path('nodes', range, 'nodels'))) as readonly string[]).map(nodeFromServer);

function readCertificate(directory: string, node: string): string {
  const files = ['pem', 'crt'].map((ending) => join(directory, `${node}.${ending}`));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new UsageError(`There is no ${files[0]}. Nothing was sent.`);
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}
