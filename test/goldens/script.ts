import { handlesIn } from '../../src/core/handles.ts'
import { calls, say, think, type Answer, type BrainTurn } from '../../src/testing/referee/index.ts'
import type { ToolCall, ToolResult } from './clients.ts'

/** Numbers that look arbitrary and are the same in every run. */
const number = (seed: number, below: number): number => (Math.imul(seed + 1, 2_654_435_761) >>> 7) % below

const lines = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n')

const log = (seed: number, count: number): string =>
  lines(count, (n) => {
    const id = number(seed * 1_000 + n, 1_000_003)
    const level = id % 97 === 0 ? 'ERROR' : id % 13 === 0 ? 'WARN' : 'INFO'
    return `2026-11-14T14:${String(seed % 60).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}Z ${level} order=${id} service=checkout-${id % 5} took ${id % 900} ms`
  })

const rows = (seed: number, count: number): object[] =>
  Array.from({ length: count }, (_, n) => ({
    id: number(seed + n, 99_991),
    pod: `checkout-${n % 7}`,
    state: n % 11 === 3 ? 'CrashLoopBackOff' : 'Running',
    restarts: n % 11,
    note: n % 5 === 0 ? null : `höhe ${n} 漢字`,
  }))

const source = (seed: number, count: number): string =>
  lines(count, (n) =>
    n % 9 === 0
      ? `export function step${seed}x${n}(order: Order): Result {`
      : n % 9 === 8
        ? '}\n'
        : `  const value${n} = order.items[${number(seed + n, 40)}] ?? fallback(${n}) // ${seed}`,
  )

const patch = (seed: number, count: number): string =>
  `diff --git a/src/part-${seed}.ts b/src/part-${seed}.ts\n--- a/src/part-${seed}.ts\n+++ b/src/part-${seed}.ts\n` +
  lines(count, (n) => (n % 12 === 0 ? `@@ -${n},7 +${n},8 @@` : `${[' ', '-', '+'][n % 3]}  retry(${seed}, ${n})`))

const table = (seed: number, count: number): string =>
  `order,service,ms,error\n${lines(count, (n) => `${number(seed + n, 90_001)},checkout-${n % 5},${n * 7},${n % 17 === 0 ? 'pool exhausted' : ''}`)}`

const trace = (seed: number, count: number): string =>
  `Traceback (most recent call last):\n${lines(count, (n) => `  File "/srv/shop/part_${n}.py", line ${number(seed + n, 900)}, in step_${n}\n    return charge(order, retry=${n})`)}\nPoolExhausted: no connection within ${seed * 7} ms`

/** What tools of an agent say: each kind that a preview treats in its own way, small and far too large. */
const SAYINGS: readonly ((seed: number) => string)[] = [
  (seed) => log(seed, 18),
  (seed) => JSON.stringify(rows(seed, 12), undefined, 2),
  (seed) => source(seed, 40),
  (seed) => `exit code ${seed % 3}`,
  (seed) => log(seed, 420),
  (seed) => patch(seed, 50),
  (seed) => table(seed, 60),
  (seed) => JSON.stringify({ items: rows(seed, 260), next: null }),
  (seed) => trace(seed, 14),
  (seed) => source(seed, 420),
  (seed) =>
    log(seed, 30)
      .split('\n')
      .map((line) => JSON.stringify({ line, seed }))
      .join('\n'),
  () => '',
]

/** The bytes of a picture. */
export const picture = (seed: number): string =>
  Buffer.concat([
    Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAgAAAAGACAYAAAC', 'base64'),
    Buffer.from(Array.from({ length: 600 }, (_, n) => number(seed * 7 + n, 256))),
  ]).toString('base64')

export const resultOf = (call: ToolCall, seed: number): ToolResult => ({
  call,
  text: SAYINGS[seed % SAYINGS.length]!(seed),
  ...(seed % 11 === 6 && { picture: picture(seed) }),
  ...(seed % 12 === 8 && { failed: true }),
})

export const taskOf = (n: number): string =>
  n === 0
    ? 'Why does checkout fail since 14:00? Do not touch /srv/shop/payments.yaml, and keep ticket OPS-4711 up to date.'
    : `${['Go on.', 'What did the pool say, and since when?', 'Now fix it, without a restart.'][n % 3]} (${n})`

const OPENINGS = ['Reading on. ', 'Let me look at the pool. ', 'That is not it; ', 'Höchste Zeit – ']

/** What the model answers to its n-th prompt: an agent at work, that reads with our tools where it can. */
export function answer(turn: BrainTurn): Answer {
  const n = turn.number
  const text = OPENINGS[n % OPENINGS.length]!
  const bash = { name: 'bash', input: { command: `tail -n ${n * 10} /var/log/checkout.log` } }
  const file = { name: 'read_file', input: { path: `src/part-${n % 9}.ts` } }
  const wiki = { name: 'search', input: { query: `pool exhausted ${n}` } }
  const ours = ownCall(turn)
  switch (n % 8) {
    case 1:
      return think(`The pool may be the cause; log ${n} will tell.`, calls([bash]))
    case 2:
      return calls([bash, file, wiki], text)
    case 3:
      return ours === undefined ? calls([wiki]) : calls([ours], text)
    case 4:
      return think(`Part ${n % 9} is next.`, ours === undefined ? calls([file]) : calls([bash, ours, file], text))
    case 5:
      return calls([bash])
    case 6:
      return think('Two at once.', calls([wiki, file]))
    case 7:
      return calls([file], text)
    default:
      return say(`So far (${n}): orders wait ${n * 7} ms for a connection, since 14:0${n % 10}, on checkout-${n % 5}.`)
  }
}

/** A call of a tool that the gateway answers, where the request declares one. */
function ownCall({ number: n, tools, body }: BrainTurn): { name: string; input: Record<string, unknown> } | undefined {
  const [handle] = handlesIn(JSON.stringify(body)).toReversed()
  if (handle !== undefined && tools.includes('artifact_grep') && n % 3 !== 1)
    return { name: 'artifact_grep', input: { handle, pattern: 'ERROR|fallback|Crash' } }
  if (handle !== undefined && tools.includes('artifact_read'))
    return { name: 'artifact_read', input: { handle, start: 10, count: 12 } }
  return tools.includes('recall') ? { name: 'recall', input: { query: 'pool exhausted' } } : undefined
}
