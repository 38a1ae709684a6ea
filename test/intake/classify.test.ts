import { describe, expect, it } from 'vitest'

import { classify } from '../../src/engine/intake/index.ts'
import { recorded } from '../support/shared-data.ts'
import { corpusFiles } from './helpers.ts'

const CASES: readonly { name: string; input: string | Uint8Array; kind: string; format?: string; items?: number }[] = [
  { name: 'nothing', input: '', kind: 'empty' },
  { name: 'white space', input: ' \n\t\n', kind: 'empty' },
  { name: 'JSON array', input: '[{"a":1},{"a":2},{"a":3}]', kind: 'json-array', items: 3 },
  { name: 'JSON with a byte order mark', input: '\ufeff[1,2,3]', kind: 'json-array', items: 3 },
  { name: 'JSON object', input: '{"a":1,"b":{"c":2}}', kind: 'json-object', items: 2 },
  {
    name: 'a list inside an envelope',
    input: '{"ok":true,"data":{"rows":[{"a":1},{"a":2}]}}',
    kind: 'json-object',
    items: 2,
  },
  { name: 'JSON string', input: '"just text"', kind: 'json-value' },
  { name: 'broken JSON', input: '{"a":[1,2,', kind: 'plain' },
  { name: 'brackets that are no JSON', input: '[main] started\n[main] done', kind: 'plain' },
  { name: 'NDJSON', input: '{"id":1,"v":"x"}\n{"id":2,"v":"y"}\n{"id":3,"v":"z"}\n', kind: 'ndjson' },
  {
    name: 'structured log lines',
    input: Array.from({ length: 5 }, (_, i) => `{"level":"info","time":${i},"msg":"hi"}`).join('\n'),
    kind: 'log',
    format: 'json-lines',
  },
  {
    name: 'log entries',
    input: '[{"severity":"ERROR","timestamp":"2025-01-01","textPayload":"x"}]',
    kind: 'log',
    format: 'entries',
  },
  {
    name: 'syslog',
    input: 'Jun 14 15:16:01 combo sshd[1]: a\nJun 14 15:16:02 combo sshd[1]: b\nJun 14 15:16:03 combo sshd[1]: c',
    kind: 'log',
    format: 'syslog',
  },
  {
    name: 'access log',
    input: '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326\n'.repeat(4),
    kind: 'log',
    format: 'access',
  },
  {
    name: 'klog',
    input: 'E0612 12:34:56.789012       1 server.go:12] it broke\n'.repeat(4),
    kind: 'log',
    format: 'klog',
  },
  {
    name: 'logfmt',
    input: 'time=2025-01-01T00:00:00Z level=info msg="started" port=1\n'.repeat(4),
    kind: 'log',
    format: 'logfmt',
  },
  {
    name: 'Prometheus result',
    input:
      '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"},"values":[[1,"1"],[2,"0"]]}]}}',
    kind: 'time-series',
    format: 'prometheus',
  },
  {
    name: 'Cloud Monitoring series',
    input:
      '[{"metric":{"type":"cpu"},"resource":{"type":"gce"},"points":[]},{"metric":{"type":"cpu"},"resource":{"type":"gce"},"points":[]}]',
    kind: 'time-series',
    format: 'cloud-monitoring',
  },
  { name: 'CSV', input: 'id,name,size\n1,a,2\n2,"b, c",3\n3,d,4\n', kind: 'csv' },
  { name: 'TSV', input: 'id\tname\n1\ta\n2\tb\n3\tc\n', kind: 'tsv' },
  { name: 'Markdown table', input: '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n', kind: 'table', format: 'markdown' },
  {
    name: 'columns under a header',
    input:
      'NAME      READY   STATUS    RESTARTS   AGE\npod-a     1/1     Running   0          5d\npod-b     0/1     Error     3          5d\n',
    kind: 'table',
    format: 'columns',
  },
  {
    name: 'diff',
    input: 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n',
    kind: 'diff',
    format: 'git',
  },
  { name: 'HTML', input: '<!doctype html><html><body><p>hi</p></body></html>', kind: 'html' },
  {
    name: 'nmap',
    input: '<?xml version="1.0"?>\n<!DOCTYPE nmaprun>\n<nmaprun args="nmap"><host/></nmaprun>',
    kind: 'xml',
  },
  {
    name: 'Python trace',
    input:
      'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\n  File "a.py", line 2, in f\n    g()\nValueError: no',
    kind: 'stack-trace',
    format: 'python',
  },
  {
    name: 'Java trace',
    input:
      'java.lang.IllegalStateException: no\n\tat com.acme.A.f(A.java:12)\n\tat com.acme.B.g(B.java:3)\nCaused by: java.io.IOException\n\tat com.acme.C.h(C.java:1)',
    kind: 'stack-trace',
    format: 'java',
  },
  {
    name: 'go test',
    input: '=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:5: no\nFAIL\nFAIL\tacme/a\t0.1s\n',
    kind: 'test-output',
    format: 'go-test',
  },
  {
    name: 'pytest',
    input: '===== test session starts =====\ncollected 2 items\n===== 1 failed, 1 passed in 0.1s =====',
    kind: 'test-output',
    format: 'pytest',
  },
  { name: 'TAP', input: 'TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b\n', kind: 'test-output', format: 'tap' },
  {
    name: 'source code',
    input:
      "import { a } from 'b'\n\nexport function f(x: number) {\n  const y = x + 1\n  return y\n}\n\nexport const z = 1\n",
    kind: 'code',
    format: 'typescript',
  },
  { name: 'prose', input: 'The quick brown fox jumps over the lazy dog.\nIt was a nice day.\n', kind: 'plain' },
  {
    name: 'base64',
    input: Buffer.from('some text with Digits 0123456789 '.repeat(40)).toString('base64'),
    kind: 'base64',
  },
  {
    name: 'PNG bytes',
    input: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]),
    kind: 'binary',
    format: 'png',
  },
  {
    name: 'bytes that are no UTF-8',
    input: new Uint8Array([0xff, 0xfe, 0xfd, 0x80]),
    kind: 'binary',
    format: 'unknown',
  },
]

describe('classify', () => {
  it.each(CASES)('knows $name', ({ input, kind, format, items }) => {
    const found = classify(input)
    expect(found.kind).toBe(kind)
    if (format !== undefined) expect(found.format).toBe(format)
    if (items !== undefined) expect(found.items).toBe(items)
    expect(found.bytes).toBe(Buffer.byteLength(input))
  })

  it('looks past the status lines of a command runner', () => {
    const found = classify('Exit code 1\nOutput:\n[{"a":1},{"a":2}]')
    expect(found).toMatchObject({ kind: 'json-array', items: 2, preamble: 20, mime: 'text/plain' })
  })

  it('counts lines as an editor does', () => {
    expect(classify('a\nb').lines).toBe(2)
    expect(classify('a\nb\n').lines).toBe(2)
    expect(classify('\n').lines).toBe(1)
  })

  describe.each(recorded)('of recorded tool outputs', () => {
    it.each([
      ['api-json/', 'json-object'],
      ['csv/', 'csv'],
      ['html/', 'html'],
      ['loghub/Linux_2k.log', 'log'],
      ['metrics/holmes-158-prometheus', 'time-series'],
      ['scanners/nmap', 'xml'],
    ])('agrees with the label of real files in %s', (prefix, kind) => {
      const files = corpusFiles().filter((file) => file.name.startsWith(prefix))
      expect(files.length).toBeGreaterThan(0)
      for (const { name, read } of files) expect(classify(read()).kind, name).toBe(kind)
    })
  })
})
