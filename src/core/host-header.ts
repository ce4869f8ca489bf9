import type { IncomingMessage } from 'node:http';

/** A name, an IPv4 address or one of IPv6 in brackets, and a port. Clients that have neither send it empty. */
const host = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** What is wrong with the header Host: whatever stands before us and we could otherwise take a request for that of different hosts. */
export function hostProblem({ rawHeaders, headers, httpVersion }: IncomingMessage): string | undefined {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'The header Host is missing.' : undefined;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count++;
  if (count > 1) return 'The header Host was sent more than once.';
  return host.test(headers.host) ? undefined : 'The header Host names no host.';
}
