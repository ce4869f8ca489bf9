import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultOf } from './harness/fault-of.ts';
import { loadConfig } from '../src/config.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-config-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function file(content: string): string {
  const path = join(directory, 'muster.toml');
  writeFileSync(path, content);
  return path;
}

describe('loadConfig', () => {
  it('serves on loopback from var/ in the checkout when nothing is set', () => {
    expect(loadConfig({}, {})).toEqual({
      data: join(import.meta.dirname, '..', 'var'),
      listen: [{ host: '127.0.0.1', port: 8443 }],
      http: { listen: [], proxies: [] },
      socket: { enabled: true, path: undefined, accounts: false },
      tls: undefined,
      xcatws: { errors: 'specification' },
      limits: { maxConnectionsPerAddress: 1_024, maxConcurrentPerUser: 1_024, requestTimeout: 60 },
      hardware: {
        powerTimeout: 60,
        ca: undefined,
        ipmiTimeout: 5,
        ipmiSuites: [17, 3],
        libvirtSocket: '/run/libvirt/libvirt-sock',
        accelerator: 'kvm',
        networks: undefined,
      },
      hooks: { ca: undefined, directory: undefined, networks: undefined, seconds: 10 },
      metrics: { exporterPort: 9_100 },
      discovery: { interfaces: undefined, addresses: undefined, seconds: 5 },
      names: { hostsFile: '/etc/hosts', lookup: true },
      dns: { daemon: 'auto', directory: undefined, configuration: undefined, user: undefined, listen: undefined },
      dhcp: {
        daemon: 'auto',
        directory: undefined,
        hostsDatabase: undefined,
        bootScript: 'http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
      },
      boot: {
        listen: undefined,
        tftpListen: undefined,
        files: 'muster',
        directory: undefined,
        maxConnectionsPerAddress: 32,
        tokenLifetime: 14_400,
        newBoots: 'shown',
        atOnce: 256,
        timeout: 3_600,
      },
      remote: {
        transport: 'ssh2',
        sshConfig: undefined,
        port: 22,
        hostKeys: 'first-use',
        fanOut: 256,
        connectSeconds: 10,
        commandSeconds: 600,
        keepSeconds: 30,
        outputLimit: 1_048_576,
        sources: undefined,
        networks: undefined,
        postscripts: undefined,
      },
      images: {
        directories: undefined,
        keptPacks: 3,
        registries: undefined,
        insecureRegistries: undefined,
        registryCa: undefined,
        blobs: undefined,
        largestContainer: 68_719_476_736,
      },
      longWork: { seconds: 14_400, atOnce: 4, reserve: 1_073_741_824 },
      rangeFiles: undefined,
      logLevel: 'info',
      logFile: undefined,
      logFileSize: 10_485_760,
      logFilesKept: 5,
      audit: true,
      newDatabase: 'usual',
      rootPassword: undefined,
      unknownVariables: [],
      earlierSettings: [],
    });
  });

  it('reads every setting from the file, paths relative to it', () => {
    const config = file(`
      data = "state"
      listen = ["0.0.0.0:443", "[::1]:8443"]
      rangeFiles = "/srv/ranges"
      logLevel = "debug"
      logFile = "log"
      logFileSize = 1
      logFilesKept = 2
      audit = false
      newDatabase = "bare"
      [http]
      listen = "127.0.0.1:8080"
      proxies = ["10.9.0.0/24"]
      [xcatws]
      errors = "reference"
      [socket]
      enabled = false
      path = "own.sock"
      accounts = true
      [tls]
      certificate = "own.pem"
      key = "own.key"
      [limits]
      maxConnectionsPerAddress = 10
      maxConcurrentPerUser = 11
      requestTimeout = 12
      [hardware]
      powerTimeout = 5
      ca = "bmc-ca.pem"
      ipmiTimeout = 8
      ipmiSuites = [17]
      libvirtSocket = "/srv/libvirt-sock"
      accelerator = "qemu"
      networks = ["10.1.0.0/16", "fd00::/8"]
      [hooks]
      ca = "hooks-ca.pem"
      directory = "hooks"
      networks = ["10.2.0.0/16"]
      seconds = 4
      [metrics]
      exporterPort = 9200
      [discovery]
      interfaces = ["eth1"]
      addresses = ["10.1.0.1-10.1.0.20"]
      seconds = 3
      [names]
      hostsFile = "hosts"
      lookup = false
      [dns]
      daemon = "process"
      directory = "zones"
      configuration = "named.conf"
      user = "bind"
      listen = ["127.0.0.1:5353"]
      [dhcp]
      daemon = "none"
      directory = "kea"
      hostsDatabase = "postgresql://kea:secret@db.example:5432/kea"
      bootScript = "http://SERVER/menu.ipxe"
      [boot]
      listen = ["10.2.0.1:80"]
      tftpListen = ["10.2.0.1:69"]
      files = "nginx"
      directory = "loaders"
      maxConnectionsPerAddress = 9
      tokenLifetime = 600
      newBoots = "assumed"
      atOnce = 12
      timeout = 900
      [remote]
      transport = "process"
      sshConfig = "ssh_config"
      port = 2222
      hostKeys = "strict"
      fanOut = 64
      connectSeconds = 1
      commandSeconds = 2
      keepSeconds = 3
      outputLimit = 4
      sources = ["files", "/srv/files"]
      networks = ["10.2.0.0/16"]
      postscripts = "scripts"
      [images]
      directories = ["images", "/srv/images"]
      keptPacks = 5
      registries = ["registry.example"]
      insecureRegistries = ["127.0.0.1:5000"]
      registryCa = "registry.pem"
      blobs = "blobs"
      largestContainer = 1000
      [longWork]
      seconds = 5
      atOnce = 6
      reserve = 7
    `);
    expect(loadConfig({ config }, {})).toEqual({
      data: join(directory, 'state'),
      listen: [
        { host: '0.0.0.0', port: 443 },
        { host: '::1', port: 8443 },
      ],
      http: { listen: [{ host: '127.0.0.1', port: 8080 }], proxies: ['10.9.0.0/24'] },
      xcatws: { errors: 'reference' },
      socket: { enabled: false, path: join(directory, 'own.sock'), accounts: true },
      tls: { certificate: join(directory, 'own.pem'), key: join(directory, 'own.key') },
      limits: { maxConnectionsPerAddress: 10, maxConcurrentPerUser: 11, requestTimeout: 12 },
      hardware: {
        powerTimeout: 5,
        ca: join(directory, 'bmc-ca.pem'),
        ipmiTimeout: 8,
        ipmiSuites: [17],
        libvirtSocket: '/srv/libvirt-sock',
        accelerator: 'qemu',
        networks: ['10.1.0.0/16', 'fd00::/8'],
      },
      hooks: {
        ca: join(directory, 'hooks-ca.pem'),
        directory: join(directory, 'hooks'),
        networks: ['10.2.0.0/16'],
        seconds: 4,
      },
      metrics: { exporterPort: 9_200 },
      discovery: { interfaces: ['eth1'], addresses: ['10.1.0.1-10.1.0.20'], seconds: 3 },
      names: { hostsFile: join(directory, 'hosts'), lookup: false },
      dns: {
        daemon: 'process',
        directory: join(directory, 'zones'),
        configuration: join(directory, 'named.conf'),
        user: 'bind',
        listen: [{ host: '127.0.0.1', port: 5353 }],
      },
      dhcp: {
        daemon: 'none',
        directory: join(directory, 'kea'),
        hostsDatabase: 'postgresql://kea:secret@db.example:5432/kea',
        bootScript: 'http://SERVER/menu.ipxe',
      },
      boot: {
        listen: [{ host: '10.2.0.1', port: 80 }],
        tftpListen: [{ host: '10.2.0.1', port: 69 }],
        files: 'nginx',
        directory: join(directory, 'loaders'),
        maxConnectionsPerAddress: 9,
        tokenLifetime: 600,
        newBoots: 'assumed',
        atOnce: 12,
        timeout: 900,
      },
      remote: {
        transport: 'process',
        sshConfig: join(directory, 'ssh_config'),
        port: 2222,
        hostKeys: 'strict',
        fanOut: 64,
        connectSeconds: 1,
        commandSeconds: 2,
        keepSeconds: 3,
        outputLimit: 4,
        sources: [join(directory, 'files'), '/srv/files'],
        networks: ['10.2.0.0/16'],
        postscripts: join(directory, 'scripts'),
      },
      images: {
        directories: [join(directory, 'images'), '/srv/images'],
        keptPacks: 5,
        registries: ['registry.example'],
        insecureRegistries: ['127.0.0.1:5000'],
        registryCa: join(directory, 'registry.pem'),
        blobs: join(directory, 'blobs'),
        largestContainer: 1_000,
      },
      longWork: { seconds: 5, atOnce: 6, reserve: 7 },
      rangeFiles: '/srv/ranges',
      logLevel: 'debug',
      logFile: join(directory, 'log'),
      logFileSize: 1,
      logFilesKept: 2,
      audit: false,
      newDatabase: 'bare',
      rootPassword: undefined,
      unknownVariables: [],
      earlierSettings: [],
    });
  });

  it('lets the command line win over the environment, and that over the file', () => {
    const config = file('data = "/file"\nlogLevel = "debug"\nlisten = ["h:1"]');
    const environment = { MUSTER_DATA: '/environment', MUSTER_LISTEN: 'h:2, [::]:3', MUSTER_CONFIG: config };
    expect(loadConfig({}, environment)).toMatchObject({
      data: '/environment',
      logLevel: 'debug',
      listen: [
        { host: 'h', port: 2 },
        { host: '::', port: 3 },
      ],
    });
    expect(loadConfig({ data: '/flag', listen: ['h:4'] }, environment)).toMatchObject({
      data: '/flag',
      listen: [{ host: 'h', port: 4 }],
    });
  });

  it('takes the password of root from the environment and from nowhere else', () => {
    expect(loadConfig({}, { MUSTER_ROOT_PASSWORD: 'geheim' }).rootPassword).toBe('geheim');
    expect(() => loadConfig({ config: file('rootPassword = "geheim"') }, {})).toThrow(/no setting rootPassword/);
  });

  it.each([
    ['dta = "x"', /muster\.toml: there is no setting dta\. The settings are data, /],
    ['[limits]\nmaxUsers = 3', /muster\.toml: there is no setting limits\.maxUsers/],
    ['toString = 1', /there is no setting toString/],
    ['data = 3', /muster\.toml: data must be a path, as a string; it is 3/],
    ['listen = ["x"]', /muster\.toml: listen must be one or more addresses HOST:PORT .*; it is \["x"\]/],
    ['listen = []', /listen must be one or more addresses/],
    ['limits = 3', /muster\.toml: limits must be a table, written as \[limits\]/],
    ['[limits]\nrequestTimeout = "60"', /limits\.requestTimeout must be a whole number of at least 1; it is "60"/],
    ['[limits]\nrequestTimeout = 0', /limits\.requestTimeout must be a whole number of at least 1; it is 0/],
    ['[discovery]\naddresses = ["10.1.0.9-10.1.0.2"]', /discovery\.addresses must be one or more address ranges/],
    ['[discovery]\naddresses = "10.0.0.0/16"', /discovery\.addresses must be .* at most 1024 addresses/],
    ['[dns]\ndaemon = "upstart"', /dns\.daemon must be one of auto, systemd, process, none; it is "upstart"/],
    ['[dns]\nuser = "-x"', /dns\.user must be the name of a user/],
    ['[dhcp]\nhostsDatabase = "mysql://x/y"', /dhcp\.hostsDatabase must be a URL postgresql:/],
    ['[dhcp]\nbootScript = "http://SERVER/a,b"', /dhcp\.bootScript must be a URL without blanks, quotes and commas/],
    ['[discovery]\ninterfaces = []', /discovery\.interfaces must be one or more names; it is \[\]/],
    ['logLevel = "loud"', /logLevel must be one of fatal, error, .*; it is "loud"/],
    ['[tls]\nkey = "own.key"', /tls\.key is set but tls\.certificate is not/],
    ['data = ', /muster\.toml is not valid TOML/],
  ])('refuses %j', (content, message) => {
    expect(() => loadConfig({ config: file(content) }, {})).toThrow(message);
  });

  it.each([
    '[dhcp]\nhostsDatabase = "mysql:kea:geheim@db/kea"',
    '[dhcp]\nhostsDatabase = ["postgresql://kea:geheim@db/kea"]',
    '[dhcp]\nhostsDatabase = "postgresql://kea:geheim@db/kea',
    '[dhcp]\nbootScript = "http://boot:geheim@SERVER/a b"',
    'hostsDatabase = "postgresql://kea:geheim@db/kea"',
  ])('repeats no password of %j', (content) => {
    const refusal = faultOf(() => loadConfig({ config: file(content) }, {}));
    expect(refusal.message).toMatch(
      /^\S*muster\.toml: |^The configuration file \S*muster\.toml is not valid TOML: line 2, /,
    );
    expect(refusal.message).not.toContain('geheim');
    const variable = { MUSTER_DHCP_HOSTS_DATABASE: 'mysql://kea:geheim@db/kea' };
    expect(faultOf(() => loadConfig({}, variable)).message).toBe(
      'Environment variable MUSTER_DHCP_HOSTS_DATABASE must be a URL postgresql://user:password@host:port/name.',
    );
  });

  it('finds variables that are no settings', () => {
    const environment = {
      MUSTER_DATA: '/d',
      MUSTER_CONFIG: '',
      MUSTER_ROOT_PASSWORD: 'x',
      MUSTER_HARDWARE_NETWORK: '10/8',
    };
    expect(loadConfig({}, { ...environment, HOME: '/root' }).unknownVariables).toEqual(['MUSTER_HARDWARE_NETWORK']);
  });

  it('reads a file with a setting of the version before, and names it', () => {
    const config = file('logLevel = "warn"\n[hardware]\nrehearsal = false');
    expect(loadConfig({ config }, {})).toMatchObject({
      logLevel: 'warn',
      earlierSettings: [`${config}: the setting hardware.rehearsal has no effect any more. Remove it.`],
    });
  });

  it('takes former names of settings, with a warning each, but not beside the new ones', () => {
    const config = file('[boot]\ndeadline = 7');
    const { boot, hardware, earlierSettings, unknownVariables } = loadConfig(
      { config },
      { MUSTER_POWER_DEADLINE: '8' },
    );
    expect([boot.timeout, hardware.powerTimeout, unknownVariables]).toEqual([7, 8, []]);
    expect(earlierSettings).toEqual([
      `${config}: boot.deadline is now called boot.timeout. The former name works in this version only: use the new one.`,
      'Environment: MUSTER_POWER_DEADLINE is now called MUSTER_POWER_TIMEOUT. The former name works in this version only: use the new one.',
    ]);
    const both = /former name of .*, and both are set: remove the former\.$/;
    expect(() => loadConfig({}, { MUSTER_BOOT_DEADLINE: '1', MUSTER_BOOT_TIMEOUT: '2' })).toThrow(both);
    expect(() => loadConfig({ config: file('[boot]\ndeadline = 7\ntimeout = 8') }, {})).toThrow(both);
  });

  it('names the variable or option that is wrong, and a file that is not there', () => {
    expect(() => loadConfig({}, { MUSTER_REQUEST_TIMEOUT: 'soon' })).toThrow(
      /variable MUSTER_REQUEST_TIMEOUT must be .*; it is "soon"/,
    );
    expect(() => loadConfig({ listen: ['8443'] }, {})).toThrow(/^--listen must be .*; it is \["8443"\]/);
    expect(() => loadConfig({ config: '/nowhere/muster.toml' }, {})).toThrow(/\/nowhere\/muster\.toml cannot be read/);
  });
});
