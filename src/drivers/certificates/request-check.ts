import { createPublicKey, type KeyObject } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { ipText, parseIp } from '../../core/ip.ts';

/** Characters of a request; large keys and many names make three thousand. */
const longest = 16_384;
const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
/** RFC 5280 4.2.1.6. */
const alternativeNames = '2.5.29.17';
const basicConstraints = '2.5.29.19';
/** Where a request has what it asks for: as RFC 2985 says, and as older programs of Microsoft wrote it, which OpenSSL reads too. */
const extensionRequests = ['1.2.840.113549.1.9.14', '1.3.6.1.4.1.311.2.1.14'] as const;
const leastBits = 2_048;
const mostBits = 8_192;

const refused = (why: string): Fault =>
  new Fault(
    'invalid',
    `its BMC made a request for a certificate that muster does not use: ${why}. Nothing was changed.`,
  );

/**
 * The public key of a request, which whoever made it has: its signature says so. A BMC may be hostile: its key has to be strong, and the
 * request has to be for no names but these, for an authority may believe what it reads there.
 */
export async function keyOfRequest(pem: string, names: readonly string[]): Promise<{ key: KeyObject; pem: string }> {
  if (pem.length > longest) throw refused(`it has ${pem.length} characters`);
  const found = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END/.exec(pem);
  if (!found) throw refused('it is not in PEM form');
  // Loading it takes a while, and most commands need none.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const der = Buffer.from(found[1]!, 'base64');
  let request: InstanceType<typeof x509.Pkcs10CertificateRequest>;
  let key: KeyObject;
  let asked: readonly string[];
  let isHidden: boolean;
  let isAuthority: boolean;
  try {
    request = new x509.Pkcs10CertificateRequest(der);
    key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), type: 'spki', format: 'der' });
    const others = request.getExtension(alternativeNames);
    const constraints = request.getExtension(basicConstraints);
    isAuthority = constraints !== null && new x509.BasicConstraintsExtension(constraints.rawData).ca;
    isHidden = hasMoreThanRead(request);
    asked = [
      ...request.subjectName.getField('CN'),
      ...(others ? new x509.SubjectAlternativeNameExtension(others.rawData).names.items.map(({ value }) => value) : []),
    ];
  } catch {
    throw refused('it cannot be read');
  }
  const weakness = problemOfKey(key);
  if (weakness) throw refused(weakness);
  if (isHidden) throw refused('it says in more than one place what it asks for');
  if (isAuthority) throw refused('it asks to be an authority');
  const wanted = new Set(names.map(plainName));
  const foreign = asked.find((name) => !wanted.has(plainName(name)));
  if (foreign !== undefined)
    throw refused(`it asks for the name "${shown(foreign)}", and its names are ${names.join(', ')}`);
  if (!(await verified(request))) throw refused('its signature is wrong');
  return { key, pem: pemOf(der) };
}

interface Asking {
  readonly attributes: readonly { readonly type: string; readonly values: readonly unknown[] }[];
  readonly extensions: readonly { readonly type: string }[];
}

/** Whether an authority may read there what was not looked at here. */
function hasMoreThanRead({ attributes, extensions }: Asking): boolean {
  const [usual, older] = extensionRequests;
  const found = attributes.filter(({ type }) => type === usual);
  const types = extensions.map(({ type }) => type);
  return (
    attributes.some(({ type }) => type === older) ||
    found.length > 1 ||
    found.some(({ values }) => values.length > 1) ||
    new Set(types).size !== types.length
  );
}

async function verified(request: { verify(): Promise<boolean> }): Promise<boolean> {
  try {
    return await request.verify();
  } catch {
    return false;
  }
}

/** The same request, as an authority is to get it. */
export const checkedRequest = async (pem: string, names: readonly string[]): Promise<string> =>
  (await keyOfRequest(pem, names)).pem;

/** What is wrong with a key, if anything is. */
export function problemOfKey({
  asymmetricKeyType: kind,
  asymmetricKeyDetails: details,
}: KeyObject): string | undefined {
  if (kind === 'rsa') {
    const bits = details?.modulusLength ?? 0;
    const exponent = details?.publicExponent ?? 0n;
    if (bits < leastBits || bits > mostBits) return `its RSA key has ${bits} bits, and not ${leastBits} to ${mostBits}`;
    return exponent < 3n || exponent > 0xffffffffn ? 'the exponent of its RSA key is out of range' : undefined;
  }
  if (kind === 'ec') return curves.has(details?.namedCurve ?? '') ? undefined : 'the curve of its key is not usual';
  return `its key is of the kind ${kind}`;
}

/** Names and addresses as they are compared. */
export const plainName = (name: string): string => {
  const bare = name.replace(/\.$/, '').toLowerCase();
  const ip = parseIp(bare);
  return ip ? ipText(ip) : bare;
};

const shown = (text: string): string => text.slice(0, 64).replace(/[^\x20-\x7e]/g, '?');

function pemOf(der: Buffer): string {
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`;
}
