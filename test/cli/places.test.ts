import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { curlLine } from '../../src/cli/muster/curl.ts';
import { findPlaces } from '../../src/cli/places.ts';
import { temporaryDirectory } from '../harness/server.ts';

describe('the token of a login', () => {
  const home = temporaryDirectory();
  mkdirSync(join(home, 'muster'));
  const contexts = { current: 'mn', contexts: { mn: { url: 'https://mn:8443', token: 'from-login' } } };
  writeFileSync(join(home, 'muster/contexts.json'), JSON.stringify(contexts));
  const tokenFor = (url: string) => findPlaces({ XDG_CONFIG_HOME: home, MUSTER_URL: url })[0].token;

  it('is for that server', () => {
    expect(tokenFor('https://mn:8443')).toBe('from-login');
    expect(tokenFor('https://other:8443')).toBeUndefined();
  });

  it('is not sent without TLS', () => {
    expect(tokenFor('http://mn:8443')).toBeUndefined();
    const given = (url: string) =>
      findPlaces({ XDG_CONFIG_HOME: home, MUSTER_URL: url, MUSTER_TOKEN: 'given' })[0].token;
    expect(() => given('http://mn:8080')).toThrow('The token would travel to mn in clear text');
    expect(given('http://127.0.0.1:8080')).toBe('given');
    expect(given('http://[::1]:8080')).toBe('given');
  });
});

describe('the server to ask', () => {
  it('is never another than the one that was named', () => {
    const env = { XDG_CONFIG_HOME: temporaryDirectory(), MUSTER_CONTEXT: 'nosuch' };
    expect(() => findPlaces(env)).toThrow('MUSTER_CONTEXT: there is no context "nosuch"');
    expect(findPlaces({ ...env, MUSTER_URL: 'https://mn:8443' })[0].shown).toBe('mn:8443');
  });

  it('is never one at another socket than the one that was named', () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, 'muster'));
    const contexts = { current: 'mn', contexts: { mn: { url: 'https://mn:8443', token: 'from-login' } } };
    writeFileSync(join(home, 'muster/contexts.json'), JSON.stringify(contexts));
    const data = temporaryDirectory();
    writeFileSync(join(data, 'muster.sock'), '');
    const env = { XDG_CONFIG_HOME: home, MUSTER_DATA: data };
    const shown = (more: object) => findPlaces({ ...env, ...more })[0].shown;
    expect(shown({})).toBe('mn:8443');
    expect(shown({ MUSTER_SOCKET: '/nosuch.sock' })).toBe('/nosuch.sock');
    expect(shown({ MUSTER_SOCKET: '/nosuch.sock', MUSTER_CONTEXT: 'mn' })).toBe('mn:8443');
    expect(shown({ XDG_CONFIG_HOME: data })).toBe(join(data, 'muster.sock'));
    expect(shown({ XDG_CONFIG_HOME: data, MUSTER_SOCKET: '/nosuch.sock' })).toBe('/nosuch.sock');
  });

  it('is not judged by the authorities of this machine where MUSTER_CA has none', () => {
    const env = { XDG_CONFIG_HOME: temporaryDirectory(), MUSTER_URL: 'https://mn:8443', MUSTER_CA: '/dev/null' };
    expect(() => findPlaces(env)).toThrow('MUSTER_CA: there is no certificate in /dev/null.');
  });

  it('is not guessed from a file that cannot be read', () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, 'muster'));
    writeFileSync(join(home, 'muster/contexts.json'), '{');
    expect(() => findPlaces({ XDG_CONFIG_HOME: home })).toThrow('log in again');
  });
});

describe('a request as a call of curl', () => {
  const place = {
    protocol: 'https:',
    host: 'mn',
    port: 8443,
    prefix: '/muster',
    shown: 'mn:8443',
    chosen: 'MUSTER_URL',
    token: 't',
  } as const;

  it('has neither the token nor a password', () => {
    const ENV = { DSH_REMOTE_PASSWORD: 'hush' };
    const line = curlLine(place, {
      method: 'POST',
      at: '/nodes/n1/nodeshell',
      body: { command: 'a b', raw: ['-K'], ENV },
    });
    expect(line).toBe(
      `curl -X POST -H "X-Auth-Token: $MUSTER_TOKEN" -H 'Content-Type: application/json' -d '{"command":"a b","raw":["-K"],"ENV":{"DSH_REMOTE_PASSWORD":"********"}}' https://mn:8443/muster/nodes/n1/nodeshell`,
    );
    const account = { userid: '3', username: 'u', password: 'hush' };
    expect(curlLine(place, { method: 'PUT', at: '/nodes/n1/sp/userid', body: account })).not.toContain('hush');
  });
});
