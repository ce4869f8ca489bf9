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
    expect(loadConfig({}, {})).toMatchObject({
      data: join(import.meta.dirname, '..', 'var'),
      database: undefined,
      listen: [{ host: '127.0.0.1', port: 8443 }],
      http: { listen: [], proxies: [] },
      socket: { enabled: true, path: undefined, accounts: false },
      tls: undefined,
      boot: { listen: undefined, tftpListen: undefined },
      bus: { servers: undefined },
      dns: { listen: undefined },
      events: { hardware: undefined, pushListen: undefined, trapListen: undefined },
      limits: { maxConnectionsPerAddress: 1_024, maxConcurrentPerUser: 1_024, requestTimeout: 60 },
      logLevel: 'info',
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
      database = "postgresql://muster@db.example/muster"
      databasePasswordFile = "db-password"
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
      libvirtCertificates = "libvirt-pki"
      firmwareTimeout = 7200
      firmwareSettle = 60
      flashAsk = 2
      flashAtOnce = 3
      flashFailures = 1
      pduKinds = "pdu-kinds.json"
      pduResetPause = 20
      snmpTimeout = 3
      powerOnPerRack = 4
      powerOnInterval = 30
      [powerBudgets]
      seconds = 30
      lowest = 150
      [series]
      nodes = "rack1"
      seconds = 120
      megabytes = 64
      [events]
      hardware = "rack1"
      logSeconds = 600
      pushListen = ["10.1.0.1:8444"]
      pushUrl = "https://10.1.0.1:8444/bmc"
      trapListen = ["10.1.0.1:162"]
      trapCommunity = "traps"
      [hooks]
      ca = "hooks-ca.pem"
      directory = "hooks"
      networks = ["10.2.0.0/16"]
      seconds = 4
      [backup]
      directory = "backups"
      offSite = "/mnt/backups"
      daily = 8
      weekly = 6
      [metrics]
      exporterPort = 9200
      [accounts]
      sources = ["pam", "ldap"]
      root = true
      remember = 60
      checkEvery = 120
      keep = 3600
      parallel = 4
      [ldap]
      servers = ["ldaps://ldap1.cluster"]
      ca = "ldap-ca.pem"
      base = "dc=cluster"
      bindDn = "cn=muster,dc=cluster"
      bindPasswordFile = "ldap-password"
      nameAttribute = "cn"
      userFilter = "(cn={name})"
      userDn = "cn={name},dc=cluster"
      groupBase = "ou=groups,dc=cluster"
      groupFilter = "(member={dn})"
      groupAttribute = "ou"
      nested = true
      timeout = 3
      [pam]
      service = "login"
      timeout = 10
      [consoles]
      most = 5
      opening = 2
      logSize = 4096
      logsKept = 1
      writeSeconds = 30
      [discovery]
      interfaces = ["eth1"]
      addresses = ["10.1.0.1-10.1.0.20"]
      seconds = 3
      [names]
      hostsFile = "hosts"
      server = "mn1"
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
      server = "mn2"
      workerTimeout = 5
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
      overlaySeconds = 3600
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
      clientBytes = 1_048_576
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
      [bus]
      servers = ["tls://nats1.cluster:4222", "tls://[fd00::1]:4222"]
      ca = "bus-ca.pem"
      credentials = "server.seed"
      jobSeconds = 9
      fileCache = 8
      [worker]
      dhcpInterfaces = ["eth1"]
      dhcpServers = ["10.0.0.1"]
      dnsListen = ["10.1.0.11:53"]
      dnsDirectory = "named"
      syslogListen = ["10.1.0.11:514"]
      syslogServer = "10.0.0.1:601"
    `);
    expect(loadConfig({ config }, {})).toEqual({
      data: join(directory, 'state'),
      database: 'postgresql://muster@db.example/muster',
      databasePasswordFile: join(directory, 'db-password'),
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
        libvirtCertificates: join(directory, 'libvirt-pki'),
        certificateTimeout: 120,
        firmwareTimeout: 7_200,
        firmwareSettle: 60,
        flashAsk: 2,
        flashAtOnce: 3,
        flashFailures: 1,
        pduKinds: join(directory, 'pdu-kinds.json'),
        pduResetPause: 20,
        snmpTimeout: 3,
        powerOnPerRack: 4,
        powerOnInterval: 30,
      },
      powerBudgets: { seconds: 30, lowest: 150 },
      series: { nodes: 'rack1', seconds: 120, megabytes: 64 },
      events: {
        hardware: 'rack1',
        logSeconds: 600,
        pushListen: [{ host: '10.1.0.1', port: 8444 }],
        pushUrl: 'https://10.1.0.1:8444/bmc',
        trapListen: [{ host: '10.1.0.1', port: 162 }],
        trapCommunity: 'traps',
      },
      hooks: {
        ca: join(directory, 'hooks-ca.pem'),
        directory: join(directory, 'hooks'),
        networks: ['10.2.0.0/16'],
        seconds: 4,
      },
      backup: { directory: join(directory, 'backups'), offSite: '/mnt/backups', daily: 8, weekly: 6 },
      metrics: { exporterPort: 9_200 },
      accounts: { sources: ['pam', 'ldap'], root: true, remember: 60, checkEvery: 120, keep: 3_600, parallel: 4 },
      ldap: {
        servers: ['ldaps://ldap1.cluster'],
        ca: join(directory, 'ldap-ca.pem'),
        base: 'dc=cluster',
        bindDn: 'cn=muster,dc=cluster',
        bindPasswordFile: join(directory, 'ldap-password'),
        nameAttribute: 'cn',
        userFilter: '(cn={name})',
        userDn: 'cn={name},dc=cluster',
        groupBase: 'ou=groups,dc=cluster',
        groupFilter: '(member={dn})',
        groupAttribute: 'ou',
        nested: true,
        timeout: 3,
      },
      pam: { service: 'login', timeout: 10 },
      consoles: { most: 5, opening: 2, logSize: 4_096, logsKept: 1, writeSeconds: 30 },
      discovery: { interfaces: ['eth1'], addresses: ['10.1.0.1-10.1.0.20'], seconds: 3 },
      names: { hostsFile: join(directory, 'hosts'), lookup: false, server: 'mn1' },
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
        server: 'mn2',
        workerTimeout: 5,
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
        overlaySeconds: 3_600,
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
        clientBytes: 1_048_576,
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
      bus: {
        servers: ['tls://nats1.cluster:4222', 'tls://[fd00::1]:4222'],
        ca: join(directory, 'bus-ca.pem'),
        credentials: join(directory, 'server.seed'),
        jobSeconds: 9,
        fileCache: 8,
      },
      worker: {
        dhcpInterfaces: ['eth1'],
        dhcpServers: ['10.0.0.1'],
        dnsListen: [{ host: '10.1.0.11', port: 53 }],
        dnsDirectory: join(directory, 'named'),
        syslogListen: [{ host: '10.1.0.11', port: 514 }],
        syslogServer: { host: '10.0.0.1', port: 601 },
      },
      rangeFiles: '/srv/ranges',
      logLevel: 'debug',
      logFile: join(directory, 'log'),
      logFileSize: 1,
      logFilesKept: 2,
      audit: false,
      newDatabase: 'bare',
      oidc: {
        device: true,
        groups: 'groups',
        name: 'preferred_username',
        scopes: ['openid', 'profile'],
        skew: 30,
        timeout: 10,
      },
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
    [
      '[worker]\nsyslogServer = ["a:1", "b:2"]',
      /worker\.syslogServer must be one address HOST:PORT .*; it is \["a:1","b:2"\]/,
    ],
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
  });

  it.each([
    'mysql://kea:geheim@db/kea',
    'postgresql:kea:geheim@db/kea',
    'postgresql://kea:1/geheim@db/kea',
    'postgresql://kea:1?geheim@db/kea',
    'postgresql://kea:1#geheim@db/kea',
    'postgresql://kea:geheim%@db/kea',
  ])('takes no %s, of whose password a part could be shown as something else', (url) => {
    expect(faultOf(() => loadConfig({}, { MUSTER_DATABASE: url })).message).toBe(
      'Environment variable MUSTER_DATABASE must be a URL postgresql://user:password@host:port/name, with characters such as @ and # written as %40 and %23.',
    );
  });

  it('takes the URL of a database with a password of any characters', () => {
    const encoded = 'postgresql://kea:1%23gehe%40im@db/kea';
    expect(loadConfig({}, { MUSTER_DHCP_HOSTS_DATABASE: encoded }).dhcp.hostsDatabase).toBe(encoded);
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
