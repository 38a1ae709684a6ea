import type Anthropic from '@anthropic-ai/sdk'
import { call, say, type Script } from '../../../src/testing/referee/index.ts'

export const STEPS = 40
/** The step whose result alone is larger than the window. */
export const BIG_STEP = 6

export const SYSTEM = 'You are an on-call engineer. Investigate with the tools you have and report what you find.'
export const TASK =
  'Checkout fails for one customer in ten since 14:02 UTC. Find the cause; do not restart anything. Ticket INC-4711.'

export const TOOLS: Anthropic.Tool[] = [
  {
    name: 'read_log',
    description: 'Reads a stretch of the checkout service log.',
    input_schema: {
      type: 'object',
      properties: { step: { type: 'integer' }, service: { type: 'string' } },
      required: ['step'],
    },
  },
]

/** Deterministic log lines: the same call gives the same bytes in every run. */
export function toolOutput({ step }: { step: number }): string {
  const lines = step === BIG_STEP ? 1_500 : 14
  return Array.from({ length: lines }, (_, i) => {
    const id = (step * 7919 + i * 104_729) % 1_000_003
    const level = id % 11 === 0 ? 'ERROR' : 'INFO'
    return `2026-11-14T14:${String(step).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}Z ${level} checkout-${id % 5} order=${id} took ${id % 900} ms`
  }).join('\n')
}

export const script: Script = (turn) =>
  turn.number < STEPS
    ? call(
        'read_log',
        { step: turn.number, service: `checkout-${turn.number % 5}` },
        `Step ${turn.number}: looking at the next stretch.`,
      )
    : say('The cause is the connection pool of checkout-3: it was halved at 14:01.')
