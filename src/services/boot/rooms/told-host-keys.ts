import { keyText } from '../../../protocols/ssh/host-keys.ts';

/** The best first. Others are left out: no connection would use them. */
const types = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa'];
const isLine = /^hostkey(?: |$)/;
const longest = 2_000;

/** The lines `hostkey TYPE KEY` of what a node sends, as its SSH server shows the keys, and the other lines. */
export function toldHostKeys(body: string): { readonly keys: readonly string[]; readonly rest: string } {
  const lines = body.split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => isLine.test(line)).map((line) => line.replace(isLine, ''));
  const rank = (key: string): number => types.indexOf(key.split(' ', 1)[0]!);
  return {
    keys: keys.filter((key) => rank(key) >= 0 && isKey(key)).sort((a, b) => rank(a) - rank(b)),
    rest: lines.filter((line) => !isLine.test(line)).join('\n'),
  };
}

/** Whether the type before the key is the one in it, and nothing stands behind it. */
const isKey = (key: string): boolean =>
  key.length <= longest && keyText(Buffer.from(key.split(' ')[1] ?? '', 'base64')) === key;
