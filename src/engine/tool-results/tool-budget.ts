/** One function is longer than 80 lines: all of it works on the four sums that a budget keeps. */

import { handlesIn } from '../../core/handles.ts'
import type { TokenLimits } from '../../core/policy.ts'

export interface ToolBudgetOptions extends TokenLimits {
  readonly countTokens: (text: string) => number
  /** Limits of single tools, beside those for all. */
  readonly tools?: Readonly<Record<string, TokenLimits>>
  /** Tokens left in the window right now, before anything of this turn. @default no limit */
  readonly room?: () => number
  /** A preview smaller than this says nothing; the handle is shown instead. @default 200 */
  readonly minPreviewTokens?: number
  /** With less than this left a tool is not run at all: its result could not even be pointed at. @default 50 */
  readonly minExecuteTokens?: number
  /** What earlier processes used, from `snapshot`. */
  readonly used?: BudgetSnapshot
}

/** What a result may be shown as, from the whole down. The budget takes the first that fits. */
export interface ResultForms {
  readonly callId: string
  readonly tool: string
  readonly full: string
  /** Tokens of `full`, where they are known. */
  readonly fullTokens?: number
  /** Why it is never shown whole, whatever is left. */
  readonly tooLarge?: string
  /** Tokens of a good preview: with less left, it is the limit that cuts and not its size. @default none */
  readonly previewTokens?: number
  /** Tokens that it asks for in a batch. @default all of it */
  readonly wants?: number
  /** A view of at most so many tokens. */
  readonly preview?: (tokens: number) => string | Promise<string>
  /** The address of the stored original, and how to read it. */
  readonly handle?: string | (() => string | Promise<string>)
  /** Shown whole whatever is left, and counted: the answer of a reader, a final report, the wrapper of a batch. */
  readonly always?: boolean
}

export type BudgetStep = 'full' | 'preview' | 'handle' | 'refusal'

export interface BudgetGrant {
  readonly callId: string
  readonly step: BudgetStep
  readonly text: string
  readonly tokens: number
  /** Which limit decided, when the step is not `full`. */
  readonly reason?: string
  /** It is the window that had no room. */
  readonly isWindow?: true
}

export interface BudgetSnapshot {
  readonly session: number
  readonly tools: Readonly<Record<string, number>>
  /** The same of the turn at hand. @default nothing */
  readonly turn?: { readonly all: number; readonly tools: Readonly<Record<string, number>> }
}

export const NOTHING_USED: BudgetSnapshot = { session: 0, tools: {} }

export type ToolBudget = ReturnType<typeof toolBudget>

/** Whether a tool may run; else the text that answers its call in its place. */
export type MayRun = { readonly ok: true } | { readonly ok: false; readonly refusal: string }

const DEFAULT_MIN_PREVIEW = 200
const DEFAULT_MIN_EXECUTE = 50

interface Allowance {
  readonly tokens: number
  /** In words that the model can act on. */
  readonly reason: string
  readonly isWindow?: true
}

/**
 * The tokens that tool results may take, per tool and for all, per turn and per session. A result that is too large is
 * shown as a preview, else as a handle, else answered with the reason. A budget is used for one batch after the other.
 */
export function toolBudget(options: ToolBudgetOptions) {
  const { tools = {}, room = () => Infinity, used } = options
  const { minPreviewTokens = DEFAULT_MIN_PREVIEW, minExecuteTokens = DEFAULT_MIN_EXECUTE } = options
  let turn = used?.turn?.all ?? 0
  let session = used?.session ?? 0
  const turnByTool = new Map(Object.entries(used?.turn?.tools ?? {}))
  const sessionByTool = new Map(Object.entries(used?.tools ?? {}))

  const countTokens = (text: string): number => Math.ceil(options.countTokens(text))

  const allowanceForAll = (): Allowance =>
    tightest([
      left(options.turnTokens, turn, 'all tools together may show', 'per turn'),
      left(options.sessionTokens, session, 'all tools together may show', 'per session'),
      { tokens: Math.max(0, Math.floor(room()) - turn), reason: 'the context window is nearly full', isWindow: true },
    ])

  /** The tightest of all limits that this tool is under. */
  const allowance = (tool: string): Allowance =>
    tightest([
      left(tools[tool]?.turnTokens, turnByTool.get(tool) ?? 0, `${tool} may show`, 'per turn'),
      left(tools[tool]?.sessionTokens, sessionByTool.get(tool) ?? 0, `${tool} may show`, 'per session'),
      allowanceForAll(),
    ])

  const sizeOf = ({ full, fullTokens }: ResultForms): number => fullTokens ?? countTokens(full)

  async function grant(result: ResultForms, { tokens, reason, isWindow }: Allowance): Promise<BudgetGrant> {
    const { callId, tool, full, tooLarge } = result
    const size = sizeOf(result)
    if (result.always === true || (tooLarge === undefined && size <= tokens))
      return { callId, step: 'full', text: full, tokens: size }
    // What is too large by itself is a preview for that reason; with less than that left, the limit is the reason.
    const isOwn = tooLarge !== undefined && tokens >= (result.previewTokens ?? 0)
    const why = isOwn ? { reason: tooLarge } : { reason, isWindow }
    const fits = (step: BudgetStep, text: string): BudgetGrant | undefined => {
      const count = countTokens(text)
      return count <= tokens ? { callId, step, text, tokens: count, ...why } : undefined
    }
    // A preview that promised to fit is measured again: the budget trusts its own count only.
    const preview =
      tokens >= minPreviewTokens && result.preview !== undefined
        ? fits('preview', await result.preview(tokens))
        : undefined
    if (preview !== undefined) return preview
    const handle = typeof result.handle === 'function' ? await result.handle() : result.handle
    const pointer = handle === undefined ? undefined : fits('handle', handle)
    if (pointer !== undefined) return pointer
    const text = refusalText(tool, why.reason, size, handle)
    return { callId, step: 'refusal', text, tokens: countTokens(text), ...why }
  }

  /** Fair within each tool under its own limits first, then fair among all. */
  function batchShares(results: readonly ResultForms[]): number[] {
    const wanted = results.map((result) => result.wants ?? sizeOf(result))
    for (const tool of new Set(results.map((result) => result.tool))) {
      const indexes = results.flatMap((result, i) => (result.tool === tool ? [i] : []))
      const shares = shareFairly(
        indexes.map((i) => wanted[i] ?? 0),
        allowance(tool).tokens,
      )
      for (const [place, i] of indexes.entries()) wanted[i] = shares[place] ?? 0
    }
    return shareFairly(wanted, allowanceForAll().tokens)
  }

  /** Takes the tokens of the form that fits. */
  async function reserve(result: ResultForms, allowed = allowance(result.tool)): Promise<BudgetGrant> {
    const granted = await grant(result, allowed)
    const { tool } = result
    turn += granted.tokens
    session += granted.tokens
    for (const byTool of [turnByTool, sessionByTool]) byTool.set(tool, (byTool.get(tool) ?? 0) + granted.tokens)
    return granted
  }

  return {
    reserve,
    /** A batch of parallel results: small ones stay whole, what they leave is shared equally by the large ones. */
    async reserveBatch(results: readonly ResultForms[]): Promise<readonly BudgetGrant[]> {
      const grants = new Map<ResultForms, BudgetGrant>()
      for (const result of results) if (result.always === true) grants.set(result, await reserve(result))
      const others = results.filter(({ always }) => always !== true)
      const shares = batchShares(others)
      for (const [i, result] of others.entries()) {
        const limit = allowance(result.tool)
        const share = shares[i] ?? 0
        const reason = `${others.length} results share what this turn has left`
        const shared: Allowance = { tokens: share, reason, isWindow: limit.isWindow }
        grants.set(result, await reserve(result, share < limit.tokens ? shared : limit))
      }
      return results.flatMap((result) => grants.get(result) ?? [])
    },
    /** Whether a call of this tool could still show anything. */
    canExecute(tool: string): MayRun {
      const { tokens, reason } = allowance(tool)
      return tokens >= minExecuteTokens ? { ok: true } : { ok: false, refusal: notRunText(tool, reason) }
    },
    /** A new turn: its own limits begin again, those of the session go on. */
    nextTurn(): void {
      turn = 0
      turnByTool.clear()
    },
    snapshot: (): BudgetSnapshot => ({
      session,
      tools: Object.fromEntries(sessionByTool),
      turn: { all: turn, tools: Object.fromEntries(turnByTool) },
    }),
  }
}

function left(limit: number | undefined, used: number, who: string, when: string): Allowance | undefined {
  if (limit === undefined) return undefined
  const reason = `${who} ${limit.toLocaleString('en-US')} tokens ${when}, ${used.toLocaleString('en-US')} are used`
  return { tokens: Math.max(0, limit - used), reason }
}

const tightest = (limits: readonly (Allowance | undefined)[]): Allowance =>
  limits
    .filter((limit) => limit !== undefined)
    .reduce((least, limit) => (limit.tokens < least.tokens ? limit : least), { tokens: Infinity, reason: '' })

/** It says why and what to do, and it keeps the address: nothing is lost because there was no room to show it. */
function refusalText(tool: string, reason: string, tokens: number, handle: string | undefined): string {
  const where = handle === undefined ? '' : ` The whole result is kept: ${handlesIn(handle).join(', ') || handle}.`
  return `The result of ${tool} (${tokens.toLocaleString('en-US')} tokens) is not shown: ${reason}.${where} Answer with what you have, or ask for less.`
}

const notRunText = (tool: string, reason: string): string =>
  `${tool} was not run: ${reason}. Answer with what you have; do not call more tools in this turn.`

/**
 * Divides `budget` so that none gets more than it wants and the smallest share is as large as it can be: small wants are
 * met in full, what they leave is split equally among the rest. Whole numbers; the sum never exceeds the budget.
 */
export function shareFairly(wanted: readonly number[], budget: number): number[] {
  const shares = wanted.map(() => 0)
  const bySize = wanted.map((_, i) => i).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0))
  let left = Math.max(0, budget)
  for (const [served, index] of bySize.entries()) {
    const equal = left / (bySize.length - served)
    const share = Math.min(wanted[index] ?? 0, Math.floor(equal))
    shares[index] = share
    left -= share
  }
  return shares
}
