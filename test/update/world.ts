import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from '../../src/database/tables.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type RootLab, startRoots } from '../lab/roots.ts';

/** muster with nodes n1, n2, ... that have whole root file systems, and the image `img`. */
export interface UpdateWorld {
  readonly server: TestServer;
  readonly lab: RootLab;
  /** Where sources and lists may lie. */
  readonly files: string;
  readonly scripts: string;
  /** Writes a source file and answers its path. */
  source(name: string, content: string | Buffer, mode?: number): string;
  script(name: string, content: string): void;
  /** Gives the cluster this image, and more rows. */
  define(image: Record<string, string>, more?: Rows): Promise<void>;
  /** The lines a file sync answers. */
  updateStatus(node: string): Promise<string>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Nodes that share one root file system. */
  readonly perRoot?: number;
  /** Default: 60. */
  readonly connectSeconds?: number;
  /** Nodes that are worked on at once. Default: muster's own. */
  readonly fanOut?: number;
  /** More settings of muster. */
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startUpdateWorld(
  count: number,
  prefix: string,
  port: number,
  { perRoot = 1, connectSeconds = 60, fanOut, environment: settings }: WorldOptions = {},
): Promise<UpdateWorld> {
  const environment = {
    MUSTER_REMOTE_PORT: String(port),
    MUSTER_REMOTE_CONNECT_SECONDS: String(connectSeconds),
    ...settings,
    ...(fanOut === undefined ? {} : { MUSTER_REMOTE_FAN_OUT: String(fanOut) }),
  };
  const [server, lab] = await Promise.all([startServer({ environment }), startRoots({ count, prefix, port, perRoot })]);
  const [publicKey] = await server.ok('GET', '/services/sshkey');
  lab.authorize(publicKey);
  const files = join(server.data, 'files');
  const scripts = join(server.data, 'postscripts');
  const write = (path: string, content: string | Buffer, mode: number): string => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, content, { mode });
    return path;
  };
  return {
    server,
    lab,
    files,
    scripts,
    source: (name, content, mode = 0o644) => write(join(files, name), content, mode),
    script: (name, content) => void write(join(scripts, name), content, 0o755),
    async define(image, more = {}) {
      const { synclists = '', postscripts = '', postbootscripts = '', environvar = '', ...linux } = image;
      const nodes = lab.addresses.map((ip, index): Row => ({ node: `n${index + 1}`, ip }));
      await resetTo(server, {
        passwd: [{ key: 'xcat', username: 'root' }],
        policy: [{ priority: '1', name: 'root', rule: 'allow' }],
        nodelist: nodes.map(({ node }) => ({ node: node!, groups: 'all' })),
        hosts: nodes,
        nodetype: [{ node: 'all', provmethod: 'img', arch: 'x86_64' }],
        osimage: [
          {
            imagename: 'img',
            imagetype: 'linux',
            osvers: 'debian12',
            provmethod: 'install',
            profile: 'compute',
            synclists,
            postscripts,
            postbootscripts,
            environvar,
          },
        ],
        linuximage: [{ imagename: 'img', ...linux }],
        site: [{ key: 'master', value: '127.0.0.1' }],
        ...more,
      });
    },
    updateStatus: async (node) => (await server.ok('GET', `/nodes/${node}/attrs/updatestatus`))[node].updatestatus,
    stop: async () => {
      await Promise.all([server.stop(), lab.stop()]);
    },
  };
}
