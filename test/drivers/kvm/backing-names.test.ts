import { expect, test } from 'vitest';
import { filesBehind } from '../../../src/drivers/kvm/backing-names.ts';

test.each([
  ['/d/base.qcow2', ['/d/base.qcow2']],
  ['/d/../d//./base.qcow2', ['/d/../d/base.qcow2']],
  ['base.qcow2', ['/images/base.qcow2']],
  ['file:/d/base.qcow2', ['/d/base.qcow2']],
  ['file:///d/base.qcow2', ['/d/base.qcow2']],
  ['file:base.qcow2', ['/images/base.qcow2']],
  ['host_device:/dev/mapper/vg0-base', ['/dev/vg0/base']],
  ['json:{"driver":"qcow2","file":{"driver":"file","filename":"/d/a \\"b\\".qcow2"}}', ['/d/a "b".qcow2']],
  ["json:{'file.filename':'/d/base.qcow2'}", ['/d/base.qcow2']],
  ['json:{"file.filename":"/d/a","backing":{"file.filename":"/d/b"}}', ['/d/a', '/d/b']],
  ['json:{"driver":"nbd","host":"h","port":"1"}', []],
  ['json:{', []],
  ['nbd://h:1/d', []],
  ['nbd+unix:///?socket=/run/x', []],
  ['rbd:pool/image', []],
])('%s leads to %j', (name, files) => expect(filesBehind(name, '/images/top.qcow2')).toEqual(files));
