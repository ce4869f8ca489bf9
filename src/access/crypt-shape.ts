/** crypt(5) by method. Traditional DES is left out on purpose: any thirteen letters would look like one. */
const shapes: readonly RegExp[] = [
  /^\$g?y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{0,86}\$[./A-Za-z0-9]{43}$/,
  /^\$7\$[./A-Za-z0-9]{11,97}\$[./A-Za-z0-9]{43}$/,
  /^\$2[abxy]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/,
  /^\$6\$(rounds=[1-9]\d{2,8}\$)?[^$:\s]{0,16}\$[./A-Za-z0-9]{86}$/,
  /^\$5\$(rounds=[1-9]\d{2,8}\$)?[^$:\s]{0,16}\$[./A-Za-z0-9]{43}$/,
  /^\$1\$[^$:\s]{0,8}\$[./A-Za-z0-9]{22}$/,
  /^\$sha1\$[1-9]\d{0,9}\$[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{28}$/,
  /^\$md5(,rounds=[1-9]\d{0,9})?\$[./A-Za-z0-9]{8}\${1,2}[./A-Za-z0-9]{22}$/,
  /^\$3\$\$[0-9a-f]{32}$/,
];

/** Whether a text is a complete crypt hash, not just something with a dollar sign in front. */
export function isCryptHash(text: string): boolean {
  return text.length <= 384 && text.startsWith('$') && shapes.some((shape) => shape.test(text));
}
