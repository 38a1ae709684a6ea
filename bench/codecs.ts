import { performance } from 'node:perf_hooks'
import { CODECS } from '../test/support/wires.ts'
import { largeBody, type Shape } from '../test/support/large-bodies.ts'
import { WIRES } from '../test/support/generators/index.ts'

/**
 * Decoding and encoding an untouched body beside what a naive gateway would do to it. The two are measured in turns, so that a
 * busy machine slows both. Fails when the codec takes more than twice as long on a session as agents have it; a body of nothing
 * but tiny messages is the worst case for a codec that makes an object for each, and is shown beside it.
 */
const MEGABYTES = 5
const ROUNDS = 15
const LIMIT = 2

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!

function timed(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

let failed = false
const SHAPES: readonly Shape[] = ['session', 'chatter']
for (const [wire, shape] of WIRES.flatMap((wire) => SHAPES.map((shape) => [wire, shape] as const))) {
  const { decode, encode } = CODECS[wire]
  const text = largeBody(wire, MEGABYTES * 1024 * 1024, shape)
  const ours: number[] = []
  const naive: number[] = []
  for (let round = 0; round < ROUNDS + 3; round++) {
    const a = timed(() => encode(decode(text)))
    const b = timed(() => JSON.stringify(JSON.parse(text)))
    // The first rounds warm the compiler up.
    if (round < 3) continue
    ours.push(a)
    naive.push(b)
  }
  const [a, b] = [median(ours), median(naive)]
  const ratio = a / b
  failed ||= shape === 'session' && ratio > LIMIT
  const size = (Buffer.byteLength(text) / 1024 / 1024).toFixed(1)
  console.log(
    `${wire.padEnd(20)} ${shape.padEnd(8)} ${size} MB  decode+encode ${a.toFixed(1)} ms  parse+stringify ${b.toFixed(1)} ms  ratio ${ratio.toFixed(2)}${shape === 'session' ? ` (limit ${LIMIT})` : ''}`,
  )
}
if (failed) process.exitCode = 1
