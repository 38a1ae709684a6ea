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
  /** One step asks for an early log back instead of reading another one. @default false */
  readonly recalls?: boolean
  /** The call that reads a step's log, where the agent has tools of its own. @default `read_log` with the step */
  readonly reads?: (step: number) => { readonly name: string; readonly input: Record<string, unknown> }
}

/** The step that asks for something back, and what it asks for: the first line of a log that is long out of view. */
const RECALL_STEP = 31
const EARLY_LINE = logOf(2).split('\n')[0]!

const isDouble = (step: number, { parallel = true }: ScriptOptions): boolean => parallel && step % 5 === 0

const readLog = (step: number) => ({ name: 'read_log', input: { step } })

type SteppedScript = Extract<Script, (turn: never) => unknown>

/** @public Agents that are processes of their own: frameworks/agent-process.ts. */
export const scriptOf =
  (options: ScriptOptions): SteppedScript =>
  ({ number }) => {
    const { reads = readLog } = options
    if (number > STEPS) return say(ANSWER)
    if (options.recalls === true && number === RECALL_STEP) return call('recall', { query: EARLY_LINE.split(' ')[1]! })
    const { name, input } = reads(number)
    return isDouble(number, options) ? calls([{ name, input }, reads(1_000 + number)], 'Two.') : call(name, input)
  }

/** The steps whose logs the agent reads, in order. */
const logsOf = (options: ScriptOptions): readonly number[] =>
  Array.from({ length: STEPS }, (_, i) => i + 1)
    .filter((step) => options.recalls !== true || step !== RECALL_STEP)
    .flatMap((step) => (isDouble(step, options) ? [step, 1_000 + step] : [step]))

export const LOGS = logsOf({})

export interface Stage {
  readonly referee: Referee
  readonly plimsoll: Plimsoll
}

/** What is left of a stage whose agent was a process of its own. */
interface FinishedStage {
  readonly referee: Pick<Referee, 'summary'>
  readonly plimsoll: { readonly ledger: Pick<Plimsoll['ledger'], 'sessions'>; close(): Promise<void> }
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
  { referee, plimsoll }: FinishedStage,
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
  expect(all).not.toMatch(/art_[0-9a-z]{26}/)
}

/** What was asked back was not in the request before, and is in the one after. */
export function expectRecalled({ referee }: { readonly referee: Pick<Referee, 'log'> }): void {
  const sent = referee.log.filter(({ kind }) => kind === 'generate').map(({ raw }) => Buffer.from(raw).toString())
  expect(sent[RECALL_STEP - 1]).not.toContain(EARLY_LINE)
  expect(sent[RECALL_STEP]).toContain(EARLY_LINE)
}

/** Nobody told Plimsoll the window: the provider refused one request, a smaller one took its place, and the agent got through. */
export async function expectRecovered({ referee, plimsoll }: FinishedStage): Promise<void> {
  expect(referee.summary()).toMatchObject({ overflows: 1, invalid: 0, answered: STEPS + 1, requests: STEPS + 2 })
  await plimsoll.close()
}
