import type { InspectSource } from '../../src/lab/inspect/measures.ts'

const LINES = Array.from({ length: 40 }, (_, index) => `line ${index} of the file with some content`)
const numbered = (from: number, lines: readonly string[]) =>
  lines.map((line, index) => `${from + index}→${line}`).join('\n')

const call = (id: string, tool: string, input: unknown) => ({
  kind: 'call',
  text: JSON.stringify(input),
  input,
  callId: id,
  toolName: tool,
})
const result = (id: string, text: string) => ({ kind: 'result', text, callId: id })

/** Reads one file twice, runs one command twice with the same outcome, and is compacted once. */
export const SAMPLE: InspectSource = {
  format: 'claude-code',
  file: 'sessions/demo.jsonl',
  model: 'claude-sonnet-4-5',
  system: 's'.repeat(400),
  tools: [{ name: 'Read', json: 't'.repeat(200) }],
  messages: [
    { line: 1, parts: [{ kind: 'user', text: 'u'.repeat(80) }] },
    { line: 2, parts: [{ kind: 'reasoning', text: 'r'.repeat(100) }, call('1', 'Read', { file_path: '/a/b.ts' })] },
    { line: 3, parts: [result('1', numbered(1, LINES))] },
    { line: 4, parts: [call('2', 'Bash', { command: 'npm test' })] },
    { line: 5, parts: [result('2', 'x'.repeat(400))] },
    { line: 6, parts: [call('3', 'Bash', { command: 'npm test' })] },
    { line: 7, parts: [result('3', 'x'.repeat(400))] },
    { line: 8, parts: [call('4', 'Read', { file_path: '/a/b.ts', offset: 5 })] },
    { line: 9, parts: [result('4', numbered(7, LINES.slice(0, 20)))] },
    { line: 10, parts: [{ kind: 'user', text: 'summary' }] },
  ],
  calls: [
    { index: 0, from: 0, to: 1, usage: { input: 1000, cacheRead: 0, cacheWrite: 1000, output: 5, reasoning: 0 } },
    { index: 1, from: 0, to: 3, usage: { input: 1500, cacheRead: 1000, cacheWrite: 500, output: 5, reasoning: 0 } },
    { index: 2, from: 0, to: 5 },
    { index: 3, from: 0, to: 9 },
    { index: 4, from: 9, to: 10, usage: { input: 900, cacheRead: 0, cacheWrite: 900, output: 5, reasoning: 0 } },
  ],
  compactions: [{ beforeCall: 4, tokensBefore: 1700 }],
  problems: [{ line: 4, message: 'The line is not JSON (<b>x</b>); skipped.' }],
}

export const byCharacter = (text: string): number => text.length
