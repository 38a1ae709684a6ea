import type { PreparedTurn } from '../../../src/engine/prepare/prepare.ts'
import type { Session } from '../../../src/engine/session/session.ts'
import { toolLoop, type LoopOptions } from '../../support/anthropic-loop.ts'

export const ANTHROPIC = 'anthropic-messages'
export const MODEL = 'claude-sonnet-4-5'

/** The same target in every test that does not say otherwise. */
export const targets = (window = 8_000) => [{ model: MODEL, window }]

export interface LoopRun extends Omit<LoopOptions, 'steps'> {
  readonly from?: number
  readonly to: number
  readonly window?: number
  /** Added to every body. */
  readonly extra?: object
  readonly onTurn?: (turn: PreparedTurn, steps: number) => void | Promise<void>
}

/** An agent that resends its whole history before each call, step by step. The last prepared turn comes back. */
export async function runLoop(session: Session, options: LoopRun): Promise<PreparedTurn> {
  const { from = 1, to, window, extra = {}, onTurn, ...loop } = options
  let turn: PreparedTurn | undefined
  for (let steps = from; steps <= to; steps++) {
    const body = { ...toolLoop({ ...loop, steps }), ...extra }
    turn = await session.prepare({ format: ANTHROPIC, body: JSON.stringify(body), targets: targets(window) })
    await onTurn?.(turn, steps)
  }
  return turn!
}

/** Prepares a hand-written Anthropic history. */
export const prepareMessages = (
  session: Session,
  messages: readonly object[],
  window = 8_000,
  extra: object = {},
): Promise<PreparedTurn> =>
  session.prepare({
    format: ANTHROPIC,
    body: JSON.stringify({ model: MODEL, max_tokens: 512, messages, ...extra }),
    targets: targets(window),
  })

/** Text as it stands inside a JSON string. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** How often a text contains another. */
export const occurrences = (text: string, part: string): number => text.split(part).length - 1
