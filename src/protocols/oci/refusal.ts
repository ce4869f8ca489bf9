import { Fault } from '../../core/errors.ts';
import { BrokenTransfer, type Response, wholeBody } from './http.ts';
import { shownText } from './shown-text.ts';

const mostBytes = 64 * 1024;

/** What a registry says instead of giving what was asked for. */
export async function refusal(response: Response, registry: string, what: string, hasLogin: boolean): Promise<Fault> {
  const status = response.statusCode;
  const said = await reason(response);
  if (status === 401 || status === 403) {
    const who = hasLogin ? 'this login' : 'strangers';
    const advice = hasLogin ? 'Check it.' : `If you have a login, ${howToLogIn(registry)}`;
    return new Fault('denied', `${registry} does not let ${who} read ${what}${said}. ${advice}`);
  }
  if (status === 404) return new Fault('invalid', `${registry} has no ${what}${said}.`);
  const Kind = status === 429 || status >= 500 ? BrokenTransfer : Fault;
  return new Kind('unavailable', `${registry} answers ${status} for ${what}${said}.`);
}

export const howToLogIn = (registry: string): string =>
  `give username and password with the request, or keep them by PUT /tables/passwd/rows/key=registry:${registry},username=NAME {"password":"..."}.`;

/** The status says enough where the body says nothing that can be read. */
async function reason(response: Response): Promise<string> {
  try {
    const bytes = await wholeBody(response, mostBytes, 'The answer');
    const { errors } = JSON.parse(bytes.toString('utf8')) as { errors: { code?: unknown; message?: unknown }[] };
    const { code, message } = errors[0]!;
    return ` (${shownText([code, message].filter((each) => typeof each === 'string').join(': '))})`;
  } catch {
    return '';
  }
}
