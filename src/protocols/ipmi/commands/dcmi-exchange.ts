import { Fault } from '../../../core/errors.ts';
import type { IpmiLink, Privilege } from '../link.ts';
import { completion, refusal, send } from './ask.ts';
import { byteAt, garbled } from './bytes.ts';

/** DCMI 1.5 section 6: group extension, netfn 2Ch, every message of either direction starts with DCh. */
const groupExtension = 0x2c;
const group = 0xdc;
const ownCodes = {
  0x80: 'no limit is set',
  0x84: 'the limit is out of the range it can keep',
  0x85: 'the correction time is out of range',
  0x89: 'the sampling period is out of range',
};

export interface DcmiRequest {
  readonly command: number;
  readonly data: readonly number[];
  readonly privilege?: Privilege;
  readonly what: string;
}

/** The completion code, if it is 0 or one of those accepted, and the data after the group byte. */
export async function dcmiExchange(
  link: IpmiLink,
  request: DcmiRequest,
  signal: AbortSignal,
  accept: readonly number[] = [],
): Promise<{ code: number; data: Buffer }> {
  const { command, privilege = 'user', what } = request;
  const data = Buffer.of(group, ...request.data);
  const { code, data: answer } = await send(link, { netfn: groupExtension, command, data, privilege }, signal);
  if (code === completion.unknownCommand) {
    throw new Fault('invalid', 'its service processor has no DCMI, which its power figures and limits need.');
  }
  if (code !== completion.ok && !accept.includes(code)) throw refusal(what, code, ownCodes);
  if (answer.length > 0 && byteAt(answer, 0) !== group) throw garbled(what, answer);
  return { code, data: answer.subarray(1) };
}
