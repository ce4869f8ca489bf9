import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Image } from '../../../src/protocols/oci/image.ts';
import { usualTimeouts } from '../../../src/protocols/oci/http.ts';
import { parseReference } from '../../../src/protocols/oci/reference.ts';
import { Registry, type RegistryOptions } from '../../../src/protocols/oci/registry.ts';
import { base } from '../../lab/oci/images.ts';
import { hostArchitecture, sha256, writeLayout } from '../../lab/oci/layout.ts';
import { type LabRegistry, labLogin, startRegistry } from '../../lab/oci/registry.ts';
import { isBlob, type RoughRegistry, startRoughRegistry } from '../../lab/oci/rough-registry.ts';
import { file, tar } from '../../lab/oci/tar.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'muster-registry-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

const { signal } = new AbortController();
const quick = { ...usualTimeouts, pause: 1 };

/** Finds the image and reads all of it. */
async function pull(
  reference: string,
  options: Partial<RegistryOptions> = {},
  architecture = hostArchitecture,
): Promise<{ readonly image: Image; readonly layers: readonly string[] }> {
  const given = { registries: [], insecureRegistries: [], timeouts: quick, ...options };
  const registry = new Registry(parseReference(reference), given);
  try {
    const image = await registry.image({ architecture }, signal);
    const layers: string[] = [];
    for (const layer of image.layers) {
      const pieces: Buffer[] = [];
      for await (const piece of layer.open(signal)) pieces.push(piece);
      layers.push(sha256(Buffer.concat(pieces)));
    }
    return { image, layers };
  } finally {
    await registry.close();
  }
}

describe("an image in Debian's docker-registry", () => {
  let lab: LabRegistry;
  let digest: string;
  beforeAll(async () => {
    mkdirSync(join(scratch, 'lab'));
    lab = await startRegistry(join(scratch, 'lab'));
    const layout = join(scratch, 'pushed');
    digest = writeLayout(layout, [base, [file('second')]]);
    lab.push(`${layout}:t`, 'lab/deb:1');
    lab.push(`${layout}:t`, 'private/deb:1');
    lab.push(`${layout}:t`, 'lab/docker:1', '--format', 'v2s2');
  });
  afterAll(() => lab?.stop());

  const trusting = (...addresses: string[]): Partial<RegistryOptions> => ({ registries: addresses, ca: lab.ca });

  it('is found without TLS, if that is wanted', async () => {
    const { image, layers } = await pull(`${lab.http}/lab/deb:1`, { insecureRegistries: [lab.http] });
    expect(image).toMatchObject({ digest, architecture: hostArchitecture });
    expect(layers).toEqual(image.layers.map((layer) => layer.digest));
    await expect(pull(`${lab.http}/lab/deb:1`, { registries: [lab.http] })).rejects.toThrow(
      'name it in the setting images.insecureRegistries',
    );
  });

  it('is found by TLS, with an authority that is known', async () => {
    expect((await pull(`${lab.https}/lab/deb:1`, trusting(lab.https))).image.digest).toBe(digest);
    expect((await pull(`${lab.https}/lab/deb@${digest}`, trusting(lab.https))).image.digest).toBe(digest);
    await expect(pull(`${lab.https}/lab/deb:1`, { registries: [lab.https] })).rejects.toThrow('images.registryCa');
  });

  it("is found in docker's own format", async () => {
    const { image } = await pull(`${lab.https}/lab/docker:1`, trusting(lab.https));
    expect(image.layers.map(({ diffId }) => diffId)).toEqual([sha256(tar(base)), sha256(tar([file('second')]))]);
  });

  it('is found with a login', async () => {
    const options = trusting(lab.basic);
    expect((await pull(`${lab.basic}/lab/deb:1`, { ...options, credentials: labLogin })).image.digest).toBe(digest);
    await expect(pull(`${lab.basic}/lab/deb:1`, options)).rejects.toThrow(
      `wants a login: give username and password with the request, or keep them by PUT /tables/passwd/rows/key=registry:${lab.basic}`,
    );
    const wrong = { ...labLogin, password: 'hunter2' };
    const refusal = await pull(`${lab.basic}/lab/deb:1`, { ...options, credentials: wrong }).catch(String);
    expect(refusal).toContain('does not let this login read');
    expect(refusal).not.toContain('hunter2');
  });

  it('is found with a token, of a login or of nobody', async () => {
    const options = trusting(lab.bearer, lab.tokens);
    lab.asked.length = 0;
    expect((await pull(`${lab.bearer}/lab/deb:1`, options)).image.digest).toBe(digest);
    expect(lab.asked).toEqual([{ user: '', scopes: ['repository:lab/deb:pull'] }]);
    const login = { ...options, credentials: labLogin };
    expect((await pull(`${lab.bearer}/private/deb:1`, login)).image.digest).toBe(digest);
    await expect(pull(`${lab.bearer}/private/deb:1`, options)).rejects.toThrow('does not let strangers read');
    const wrong = { ...options, credentials: { ...labLogin, password: 'hunter2' } };
    await expect(pull(`${lab.bearer}/lab/deb:1`, wrong)).rejects.toThrow('does not let this login read');
  });

  it('is not found if it is not there', async () => {
    await expect(pull(`${lab.https}/lab/deb:2`, trusting(lab.https))).rejects.toThrow('has no 127.0.0.1');
    await expect(pull(`${lab.https}/lab/none:1`, trusting(lab.https))).rejects.toThrow('has no 127.0.0.1');
    await expect(pull(`${lab.https}/lab/deb:1`, trusting(lab.https), 's390x')).rejects.toThrow('not for s390x');
  });

  it('is not looked for on this machine unless the registry is named', async () => {
    for (const address of [
      lab.https,
      lab.https.replace('127.0.0.1', 'localhost'),
      lab.https.replace('127.0.0.1', '[::1]'),
    ])
      await expect(pull(`${address}/lab/deb:1`, { ca: lab.ca })).rejects.toThrow('is on this machine or its link');
    await expect(pull('169.254.169.254/a/b')).rejects.toThrow('is on this machine or its link');
  });

  it('may be for several architectures', async () => {
    const layouts = ['amd64', 'arm64'].map((architecture) => {
      const layout = join(scratch, architecture);
      writeLayout(layout, [[file(architecture)]], {
        config: ({ config }) => void (config.architecture = architecture),
      });
      lab.push(`${layout}:t`, `multi/${architecture}:1`);
      return layout;
    });
    const manifests = layouts.map((layout, i) => {
      const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
        manifests: Record<string, unknown>[];
      };
      return {
        ...index.manifests[0],
        platform: { os: 'linux', architecture: ['amd64', 'arm64'][i], variant: i ? 'v8' : undefined },
      };
    });
    const multi = join(scratch, 'multi');
    mkdirSync(multi);
    for (const layout of layouts) execFileSync('cp', ['-r', `${layout}/.`, multi]);
    const list = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests };
    const bytes = Buffer.from(JSON.stringify(list));
    writeFileSync(join(multi, 'blobs', sha256(bytes).replace(':', '/')), bytes);
    const annotations = { 'org.opencontainers.image.ref.name': 't' };
    const top = { mediaType: list.mediaType, digest: sha256(bytes), size: bytes.length, annotations };
    writeFileSync(join(multi, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [top] }));
    lab.push(`${multi}:t`, 'lab/multi:1', '--all');
    for (const architecture of ['amd64', 'arm64']) {
      const { image } = await pull(`${lab.https}/lab/multi:1`, trusting(lab.https), architecture);
      expect(image.architecture).toBe(architecture);
      expect(image.layers[0]!.diffId).toBe(sha256(tar([file(architecture)])));
    }
    await expect(pull(`${lab.https}/lab/multi:1`, trusting(lab.https), 's390x')).rejects.toThrow(
      'has no image for linux/s390x, only for linux/amd64, linux/arm64.',
    );
  });
});

describe('a registry that does not what it should', () => {
  let rough: RoughRegistry;
  let other: RoughRegistry;
  let digest: string;
  const big = Buffer.alloc(3 << 20, 'muster');
  beforeAll(() => {
    digest = writeLayout(join(scratch, 'rough', 'deb'), [[file('big', big)]], { compression: 'none' });
  });
  beforeEach(async () => {
    rough = await startRoughRegistry(join(scratch, 'rough'));
    other = await startRoughRegistry(join(scratch, 'rough'));
  });
  afterEach(async () => {
    await rough.stop();
    await other.stop();
  });

  const fromRough = (options: Partial<RegistryOptions> = {}, name = 'deb:t') =>
    pull(`${rough.address}/${name}`, { insecureRegistries: [rough.address, other.address], ...options });
  const blobRequests = (): (string | undefined)[] =>
    rough.requests
      .filter(isBlob)
      .slice(1)
      .map(({ range }) => range);

  it('may send us elsewhere, where credentials are not shown', async () => {
    let challenged = false;
    rough.trick = (request, response) => {
      if (!request.headers.authorization) {
        challenged = true;
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
        return true;
      }
      if (!isBlob(request)) return undefined;
      response.writeHead(307, { location: `http://${other.address}${request.url}` }).end();
      return true;
    };
    expect((await fromRough({ credentials: labLogin })).image.digest).toBe(digest);
    expect(challenged).toBe(true);
    expect(other.requests.length).toBe(2);
    expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  it('may send us to one that asks for the login, which does not get it', async () => {
    rough.trick = (request, response) => {
      if (!isBlob(request)) return undefined;
      response.writeHead(307, { location: `http://${other.address}${request.url}` }).end();
      return true;
    };
    for (const challenge of [`Bearer realm="http://${other.address}/token"`, 'Basic realm="x"']) {
      other.trick = (_request, response) => {
        response.writeHead(401, { 'www-authenticate': challenge }).end();
        return true;
      };
      await expect(fromRough({ credentials: labLogin })).rejects.toThrow('does not let this login read');
    }
    const shown = [...rough.requests, ...other.requests].filter(({ authorization }) => authorization !== undefined);
    expect(shown).toEqual([]);
  });

  it('may not send us to this machine, to plain HTTP or in circles', async () => {
    const redirect = (location: string) => {
      rough.trick = (request, response) => {
        if (isBlob(request)) response.writeHead(307, { location }).end();
        return isBlob(request) || undefined;
      };
      return fromRough({ insecureRegistries: [rough.address] });
    };
    await expect(redirect(`http://${other.address}/x`)).rejects.toThrow('would be asked without TLS');
    await expect(redirect(`https://${other.address}/x`)).rejects.toThrow('is on this machine or its link');
    await expect(redirect(`http://localhost:${rough.port}/x`)).rejects.toThrow('would be asked without TLS');
    await expect(redirect('https://169.254.169.254/latest')).rejects.toThrow('is on this machine or its link');
    await expect(redirect('file:///etc/passwd')).rejects.toThrow('would be asked without TLS');
    await expect(redirect(`http://user:secret@${rough.address}/x`)).rejects.toThrow('with credentials in its URL');
    await expect(redirect(`http://${rough.address}/v2/deb/blobs/${digest}`)).rejects.toThrow(
      'redirects more than 5 times',
    );
    expect(other.requests).toEqual([]);
  });

  it('may break transfers, which are resumed', async () => {
    let breaks = 0;
    rough.trick = (request, response, body) => {
      if (!isBlob(request) || body.length < big.length) return undefined;
      const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      response.writeHead(start === 0 ? 200 : 206, {
        'content-length': body.length - start,
        ...(start === 0 ? {} : { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` }),
      });
      const rest = body.subarray(start);
      if (++breaks > 3) response.end(rest);
      else response.write(rest.subarray(0, 500_000), () => response.destroy());
      return true;
    };
    const { image, layers } = await fromRough();
    expect(layers).toEqual([image.layers[0]!.digest]);
    expect(blobRequests()).toEqual([undefined, 'bytes=500000-', 'bytes=1000000-', 'bytes=1500000-']);
  });

  it('may not know how to resume them', async () => {
    let breaks = 0;
    rough.trick = (request, response, body) => {
      if (!isBlob(request) || body.length < big.length || ++breaks > 2) return undefined;
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, 1_000_000), () => response.destroy());
      return true;
    };
    const { image, layers } = await fromRough();
    expect(layers).toEqual([image.layers[0]!.digest]);
  });

  it('may break them always, or resume them elsewhere', async () => {
    rough.trick = (request, response, body) => {
      if (!isBlob(request) || body.length < big.length) return undefined;
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, 1_000), () => response.destroy());
      return true;
    };
    await expect(fromRough()).rejects.toThrow('cannot be fetched');
    expect(blobRequests().length).toBe(5);
    rough.trick = (request, response, body) => {
      if (!isBlob(request) || body.length < big.length) return undefined;
      if (request.headers.range)
        response.writeHead(206, { 'content-range': `bytes 0-9/${body.length}` }).end('0123456789');
      else response.write(body.subarray(0, 1_000), () => response.destroy());
      return true;
    };
    await expect(fromRough()).rejects.toThrow('another part than muster asked for');
  });

  it('may send too much, too slowly, or nothing', async () => {
    rough.trick = (request, response, body) => {
      if (isBlob(request) && body.length >= big.length)
        response.writeHead(200).end(Buffer.concat([body, Buffer.from('more')]));
      else return undefined;
      return true;
    };
    await expect(fromRough()).rejects.toThrow('has more than the');
    rough.trick = (request, response, body) => {
      if (!isBlob(request) || body.length < big.length) return undefined;
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
      return true;
    };
    await expect(fromRough({ timeouts: { ...quick, window: 100 } })).rejects.toThrow('sends too slowly');
    rough.trick = (request) => isBlob(request) || undefined;
    await expect(fromRough({ timeouts: { ...quick, document: 300 } })).rejects.toThrow('did not answer within 0.3 s');
  });

  it('may show a manifest that is another or too large', async () => {
    rough.trick = (request, response, body) => {
      if (isBlob(request)) return undefined;
      response.writeHead(200, { 'docker-content-digest': sha256('other') }).end(body);
      return true;
    };
    await expect(fromRough()).rejects.toThrow('is not what its digest sha256:');
    rough.trick = (_request, response) => {
      response.writeHead(200).end(Buffer.alloc(5 << 20, ' '));
      return true;
    };
    await expect(fromRough()).rejects.toThrow('has more than 4194304 bytes');
    rough.trick = (_request, response) => {
      response.writeHead(200).end('{"schemaVersion":1}');
      return true;
    };
    await expect(fromRough()).rejects.toThrow('which is no image that can be read');
  });

  it('may ask for tokens again and again, or for none we know', async () => {
    const challenge = (header: string) => {
      rough.trick = (_request, response) => {
        response.writeHead(401, { 'www-authenticate': header }).end();
        return true;
      };
      rough.requests.length = 0;
      return fromRough({ credentials: labLogin });
    };
    other.trick = (_request, response) => {
      response.writeHead(200).end('{"token":"abc"}');
      return true;
    };
    await expect(challenge(`Bearer realm="http://${other.address}/token"`)).rejects.toThrow(
      'does not let this login read',
    );
    expect(rough.requests.map(({ authorization }) => authorization)).toEqual([undefined, 'Bearer abc']);
    other.trick = (_request, response) => {
      response.writeHead(200).end('{"token":"a\\r\\nb"}');
      return true;
    };
    await expect(challenge(`Bearer realm="http://${other.address}/token"`)).rejects.toThrow('answers with no token');
    await expect(challenge('Bearer realm="nowhere"')).rejects.toThrow('does not say where to get it');
    await expect(challenge('Negotiate')).rejects.toThrow('of a kind that is not known here');
    await expect(challenge('Bearer realm="http://10.255.255.1/token"')).rejects.toThrow('would be asked without TLS');
  });

  it('is quoted without what a terminal would act on', async () => {
    await expect(fromRough({}, 'none:t')).rejects.toThrow('(NAME_UNKNOWN: no [31m such name)');
  });
});
