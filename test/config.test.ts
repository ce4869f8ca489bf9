import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
      tls: undefined,
      limits: { maxConnectionsPerAddress: 1_024, maxConcurrentPerUser: 1_024, requestTimeout: 60 },
      hardware: { powerDeadline: 60, ca: undefined, ipmiSuites: [17, 3], networks: undefined },
      rangeFiles: undefined,
      logLevel: 'info',
      audit: true,
      rootPassword: undefined,
    });
  });

  it('reads every setting from the file, paths relative to it', () => {
    const config = file(`
      data = "state"
      listen = ["0.0.0.0:443", "[::1]:8443"]
      rangeFiles = "/srv/ranges"
      logLevel = "debug"
      audit = false
      [tls]
      certificate = "own.pem"
      key = "own.key"
      [limits]
      maxConnectionsPerAddress = 10
      maxConcurrentPerUser = 11
      requestTimeout = 12
      [hardware]
      powerDeadline = 5
      ca = "bmc-ca.pem"
      ipmiSuites = [17]
      networks = ["10.1.0.0/16", "fd00::/8"]
    `);
    expect(loadConfig({ config }, {})).toEqual({
      data: join(directory, 'state'),
      listen: [
        { host: '0.0.0.0', port: 443 },
        { host: '::1', port: 8443 },
      ],
      tls: { certificate: join(directory, 'own.pem'), key: join(directory, 'own.key') },
      limits: { maxConnectionsPerAddress: 10, maxConcurrentPerUser: 11, requestTimeout: 12 },
      hardware: {
        powerDeadline: 5,
        ca: join(directory, 'bmc-ca.pem'),
        ipmiSuites: [17],
        networks: ['10.1.0.0/16', 'fd00::/8'],
      },
      rangeFiles: '/srv/ranges',
      logLevel: 'debug',
      audit: false,
      rootPassword: undefined,
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
    ['logLevel = "loud"', /logLevel must be one of fatal, error, .*; it is "loud"/],
    ['[tls]\nkey = "own.key"', /tls\.key is set but tls\.certificate is not/],
    ['data = ', /muster\.toml is not valid TOML/],
  ])('refuses %j', (content, message) => {
    expect(() => loadConfig({ config: file(content) }, {})).toThrow(message);
  });

  it('names the variable or option that is wrong, and a file that is not there', () => {
    expect(() => loadConfig({}, { MUSTER_REQUEST_TIMEOUT: 'soon' })).toThrow(/variable MUSTER_REQUEST_TIMEOUT must be/);
    expect(() => loadConfig({ listen: ['8443'] }, {})).toThrow(/^--listen must be .*; it is \["8443"\]/);
    expect(() => loadConfig({ config: '/nowhere/muster.toml' }, {})).toThrow(/\/nowhere\/muster\.toml cannot be read/);
  });
});
