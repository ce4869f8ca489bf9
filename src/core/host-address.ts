import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { Fault } from './errors.ts';
import { parseIp } from './ip.ts';

/** Digits and dots, or parts such as 0x7f: what the system's resolver reads as an address, in its own ways. */
const numeric = /^(?:\d*|0x[\da-f]*)(?:\.(?:\d*|0x[\da-f]*))*$/i;
const ascii = /^[\x20-\x7e]*$/;

/** What is wrong with an address, if anything. The resolver takes 010 for 8 and 10.1 for 10.0.0.1: a slip would name another machine. */
export function checkHostAddress(text: string): Fault | undefined {
  if (parseIp(text) || isIPv6(text)) return undefined;
  const name = text.trim();
  const plain = ascii.test(name) ? name : domainToASCII(name);
  if (!numeric.test(plain)) return undefined;
  return new Fault(
    'invalid',
    `"${text}" is neither an IP address nor a host name; an IPv4 address is four decimal numbers from 0 to 255 without leading zeros, such as 10.0.0.7.`,
  );
}
