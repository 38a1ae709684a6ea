import { expect } from 'vitest'
import { createPlimsoll, type Plimsoll } from '../../src/index.ts'
import {
  call,
  calls,
  createReferee,
  say,
  type Referee,
  type Script,
  type Wire,
} from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'

/** Tool steps of a scripted agent, and the window that it has to stay inside. */
export const STEPS = 60
export const WINDOW = 16_000
export const MAX_OUTPUT = 500
export const TASK = 'Find out why checkout is slow.'
export const ANSWER = 'The pool of node 7 is exhausted.'

/** What a step's tool says: some 3,000 tokens, four of which do not fit. */
export const logOf = (step: number): string => toolOutput(step, 80)

export interface ScriptOptions {
  /** Every fifth step calls two tools at once. @default true */
  readonly parallel?: boolean
}

const isDouble = (step: number, { parallel = true }: ScriptOptions): boolean => parallel && step % 5 === 0

const scriptOf =
  (options: ScriptOptions): Script =>
  ({ number }) => {
    if (number > STEPS) return say(ANSWER)
    const one = { name: 'read_log', input: { step: number } }
    return isDouble(number, options)
      ? calls([one, { ...one, input: { step: 1_000 + number } }], 'Two.')
      : call('read_log', { step: number })
  }

/** The steps whose logs the agent reads, in order. */
const logsOf = (options: ScriptOptions): readonly number[] =>
  Array.from({ length: STEPS }, (_, i) => i + 1).flatMap((step) =>
    isDouble(step, options) ? [step, 1_000 + step] : [step],
  )

export const LOGS = logsOf({})

export interface Stage {
  readonly referee: Referee
  readonly plimsoll: Plimsoll
}

/** A provider that refuses what does not fit or breaks its rules, and a Plimsoll that does not sit in front of it. */
export function stageFor(wire: Wire, options: ScriptOptions = {}): Stage {
  return {
    referee: createReferee({ wire, window: WINDOW, script: scriptOf(options) }),
    plimsoll: createPlimsoll({ store: 'memory:' }),
  }
}

/** The agent got through, nothing was refused, and every call is in the ledger as the provider counted it. */
export async function expectFinished(
  { referee, plimsoll }: Stage,
  session: string,
  wholeCalls = STEPS + 1,
): Promise<void> {
  const summary = referee.summary()
  expect(summary).toMatchObject({ requests: wholeCalls, answered: wholeCalls, overflows: 0, invalid: 0 })
  expect(summary.peakInputTokens).toBeLessThanOrEqual(WINDOW - MAX_OUTPUT)
  const booked = plimsoll.ledger.sessions().find((one) => one.session === session)
  expect(booked?.requests).toBe(wholeCalls)
  expect(booked?.usage.input).toBe(summary.inputTokens)
  expect(booked?.usage.output).toBe(summary.outputTokens)
  expect(booked?.epochs).toBeGreaterThan(0)
  await plimsoll.close()
}

/** All logs, whole and in order, in the texts of a framework's own history. */
export function expectWhole(texts: readonly string[], options: ScriptOptions = {}): void {
  const all = texts.join('\n')
  const missing = logsOf(options).filter((step) => !all.includes(logOf(step)))
  expect(missing).toEqual([])
  expect(all).not.toContain('art_')
}
