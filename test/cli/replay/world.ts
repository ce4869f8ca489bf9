// Runs inside the namespaces that world.sh makes: a server with the state of the recordings, what cases need besides, and the commands.
// Told by messages which case to run; answers what came of it.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writePack } from '../../boot/packed-image.ts';
import { startServer, type TestServer } from '../../harness/server.ts';
import { type Argv, type Case, type Effects, type Outcome, stateRequests } from './cases.ts';
import { Database, differences } from './database.ts';
import { changedFiles, type Files, putFile, restoreFiles, watchedFiles } from './files.ts';
import { Bmcs, Sshds } from './labs.ts';
import { runHere, runProcess } from './run.ts';

const nextSecond = (): Promise<void> => sleep(1_000 - (Date.now() % 1_000));

interface RunOptions {
  readonly stdin?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly apart?: boolean;
}

/** The machine "mn" in its recorded state. */
class World {
  readonly server: TestServer;
  readonly #database: Database;
  readonly #bmcs = new Bmcs();
  readonly #sshds = new Sshds();
  readonly #environment: Readonly<Record<string, string>>;
  #files: Files = new Map();
  #hasDaemons = false;

  private constructor(server: TestServer) {
    this.server = server;
    this.#database = new Database(server);
    this.#environment = {
      PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/root',
      TMPDIR: process.env['TMPDIR'] ?? '/tmp',
      MUSTER_URL: `https://127.0.0.1:${server.port}`,
      MUSTER_TOKEN: server.token,
      MUSTER_CA: join(server.data, 'tls/ca.pem'),
    };
  }

  static async start(): Promise<World> {
    const server = await startServer({
      environment: {
        MUSTER_HOSTS_FILE: '/etc/hosts',
        MUSTER_REMOTE_NETWORKS: '10.0.0.0/16,127.0.0.0/8',
        MUSTER_REMOTE_SOURCES: '/root,/install',
        MUSTER_IMAGES_DIRECTORIES: '/opt,/root',
        // n4 has an address where nothing answers.
        MUSTER_IPMI_TIMEOUT: '3',
        MUSTER_DNS_DAEMON: 'process',
        MUSTER_DHCP_DAEMON: 'process',
      },
    });
    const world = new World(server);
    for (const [method, path, body] of stateRequests) await server.ok(method, path, body);
    const [root, kernel, initrd] = ['root', 'kernel', 'initrd'].map((text) => Buffer.from(text));
    const diskless = 'rhels8.6-x86_64-netboot-compute';
    writePack('/install/netboot/rhels8.6/x86_64/compute', diskless, { root: root!, kernel: kernel!, initrd: initrd! });
    await world.#remember();
    return world;
  }

  async #remember(): Promise<void> {
    await this.#database.remember();
    this.#files = watchedFiles();
  }

  /** Runs one case on the recorded state, and brings that back. */
  async replay(recorded: Case, apart: boolean): Promise<Effects> {
    const { argv, setup = [], inputs = {}, stdin, env, after = [], needs = [] } = recorded;
    await this.#provide(recorded);
    try {
      for (const [path, text] of Object.entries(inputs)) putFile(path, text);
      for (const each of setup) await this.#succeed(each);
      // A status that is set again shows in its time alone, which has seconds.
      if (setup.length > 0 && recorded.tables?.['nodelist']) await nextSecond();
      // Rows were read when the case before had ended.
      const contents =
        setup.length > 0 || needs.length > 0 ? await this.#database.contents() : this.#database.asRecorded;
      const files = watchedFiles();
      const outcome = await this.run(argv, { stdin, env, apart });
      const tables = differences(contents, await this.#database.contents());
      const changed = changedFiles(files, watchedFiles());
      const asked = [];
      for (const each of after) asked.push({ argv: each.argv, ...(await this.run(each.argv)) });
      return { ...outcome, tables, files: changed, after: asked };
    } finally {
      await this.#database.restore();
      restoreFiles(this.#files);
      if (needs.includes('dhcp')) await this.#startDaemons();
    }
  }

  async #provide({ argv, setup = [], needs = [] }: Case): Promise<void> {
    if (needs.includes('bmc')) await this.#bmcs.ready([...setup, argv]);
    if (needs.includes('ssh') || needs.includes('net')) await this.#sshds.ready(this.server);
    if (needs.includes('dhcp') && !this.#hasDaemons) {
      await this.#startDaemons();
      await this.#remember();
      this.#hasDaemons = true;
    }
  }

  /** Both daemons with what the recorded state gives them. */
  async #startDaemons(): Promise<void> {
    await this.server.ok('POST', '/services/dns');
    await this.server.ok('POST', '/services/dhcp');
  }

  async #succeed(argv: Argv): Promise<void> {
    const { code, stdout, stderr } = await this.run(argv);
    if (code !== 0) throw new Error(`The setup "${argv.join(' ')}" ended with ${code}: ${stdout}${stderr}`);
  }

  /** With `apart` it is a process of its own, as a user has it. */
  run(argv: Argv, { stdin = '', env = {}, apart = false }: RunOptions = {}): Promise<Outcome> {
    const call = { argv, stdin, env: { ...this.#environment, ...env } };
    return apart ? runProcess(call) : runHere(call);
  }

  async stop(): Promise<void> {
    await this.#bmcs.stop();
    await this.#sshds.stop();
    await this.server.stop();
  }
}

export type Request = { readonly replay: Case; readonly apart: boolean } | 'stop';
export type Answer = { readonly effects: Effects } | { readonly failure: string } | 'ready' | 'stopped';

const tell = (answer: Answer): boolean => process.send!(answer);

// Where names of files without a directory are looked for.
process.chdir('/root');
const world = await World.start();
process.on('message', (request: Request) => {
  if (request === 'stop') void world.stop().then(() => (tell('stopped'), process.disconnect()));
  else
    void world.replay(request.replay, request.apart).then(
      (effects) => tell({ effects }),
      (error: Error) => tell({ failure: error.stack ?? error.message }),
    );
});
tell('ready');
