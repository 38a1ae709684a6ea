import type { Handle } from '../../core/handles.ts'
import type { IntakeRule, Policy } from '../../core/policy.ts'
import type { Branch } from '../session/branch.ts'
import type { EngineDeps, Presented, PresentOptions } from '../deps.ts'
import { derivedFrom, type Derived } from './derived.ts'
import { describeOutput, pointerText } from '../intake/index.ts'
import { designOf } from '../presets/design.ts'
import { readerNames, type Readers } from '../readers/reader-tools.ts'
import { toolBudget, type BudgetGrant, type BudgetSnapshot, type ResultForms, type ToolBudget } from './tool-budget.ts'
import { triggeredBy } from '../presets/shared.ts'

/** The model that a result is for: what fits there, what a text weighs there, and which readers it can call. */
export interface ResultScale {
  readonly limitTokens: number
  readonly countTokens: (text: string) => number
  readonly readers: Readers
  readonly now?: () => number
}

interface ResultSource {
  readonly callId: string
  readonly tool?: string
  readonly text: string
  /** The output where it is no text. */
  readonly binary?: Uint8Array
  readonly tokens: number
  /** What it takes of a budget when it is shown whole. @default `tokens` */
  readonly budgetTokens?: number
  /** The address that the exact bytes will have. */
  readonly handle: () => Handle
}

/** One result and the ways to show it. */
export interface ResultDraft {
  readonly forms: ResultForms
  /** Made from artifacts: never stored again. */
  readonly derived?: Derived
  /** Whether all of it is shown in the end. */
  isWhole(grant: BudgetGrant): boolean
  /** What was shown, by the form that the budget took. */
  presented(grant: BudgetGrant): Presented
}

/** Where the window itself is the budget, no text counts less than designs without a tokenizer say: four characters to a token. */
export const countedFor = ({ intake }: Policy, text: string, tokens: number): number =>
  intake.budget?.withinWindow === true ? Math.max(tokens, Math.ceil(text.length / 4)) : tokens

/** A result this small costs less than any pointer that could stand for it. */
const SMALL_TOKENS = 60
const MIN_PREVIEW_TOKENS = 200

/** Most tokens of a result that is shown whole, and what a view of a larger one gets. */
export const sizesOf = ({ maxShare, previewShare }: IntakeRule, limitTokens: number) => ({
  maxTokens: maxShare * limitTokens,
  previewTokens: Math.floor(previewShare * limitTokens),
})

/** Whole, a view, the address: the forms in which a result can be shown under the policy. */
export function draftResult(deps: EngineDeps, branch: Branch, scale: ResultScale, source: ResultSource): ResultDraft {
  const { intake } = deps.policy
  const { callId, tool, text, binary, tokens } = source
  const { maxTokens, previewTokens } = sizesOf(intake, scale.limitTokens)
  const isOver = tokens > maxTokens
  const isLong = `${Math.ceil(tokens)} tokens are more than the ${Math.floor(maxTokens)} that one result may take`
  const base = { callId, tool: tool ?? 'tool', full: text, fullTokens: source.budgetTokens ?? tokens }
  const derived = binary === undefined ? derivedFrom(deps, branch, text) : undefined
  const whole = (shown: string, mode: 'none' | 'handle' | 'refusal' | 'head-tail'): Presented => ({
    text: shown,
    ...describeOutput(binary ?? text, shown, mode, scale.now),
  })
  if (derived !== undefined) {
    const forms: ResultForms = isOver
      ? {
          ...base,
          tooLarge: isLong,
          previewTokens: Math.floor(maxTokens),
          wants: Math.floor(maxTokens),
          preview: (most) => derived.shorten(Math.min(most, Math.floor(maxTokens)), scale.countTokens),
          handle: `[plimsoll: read from ${derived.handles.join(', ')}; there is no room in the context window to show it]`,
        }
      : { ...base, always: true }
    const modes = { full: 'none', preview: 'head-tail', handle: 'handle', refusal: 'refusal' } as const
    return {
      forms,
      derived,
      isWhole: ({ step }) => step === 'full',
      presented: (grant) => whole(grant.text, modes[grant.step]),
    }
  }
  const isGuarded = binary === undefined && isLarge(deps.policy, text)
  const tooLarge =
    binary !== undefined
      ? 'bytes that are no text are described, not shown'
      : isOver
        ? isLong
        : isGuarded
          ? `larger than the guard of ${designOf(deps.policy).name ?? 'the policy'} lets through`
          : undefined
  let shown: Presented | undefined
  const preview = async (most: number): Promise<string> => {
    // Cut by its own size it gets the policy's preview; cut by what others took, its whole share.
    const isShared = tooLarge === undefined && intake.budget?.withinWindow !== true
    const size = isShared ? Math.min(most, maxTokens) : previewTokens
    shown = await viewWithin(deps, branch, scale, source, { maxTokens: Math.min(most, maxTokens), previewTokens: size })
    // A view that is as long as what it stands for would be a cut without a gain; a design's hard limits hold without one.
    const isStopped = isGuarded && designOf(deps.policy).stops?.(text) === true
    const isGain = binary !== undefined || isStopped || tokens > most || scale.countTokens(shown.text) < tokens
    return isGain ? shown.text : text
  }
  return {
    forms: {
      ...base,
      preview,
      handle: () => pointerText(binary ?? text, source.handle(), readerNames(scale.readers)),
      always: (tooLarge === undefined && tokens <= SMALL_TOKENS) || undefined,
      tooLarge,
      previewTokens: tooLarge === undefined ? undefined : previewTokens,
      wants:
        tooLarge === undefined
          ? undefined
          : Math.ceil(isGuarded ? Math.min(maxTokens, scale.limitTokens) : previewTokens),
    },
    isWhole: ({ step, text: given }) => step === 'full' || (binary === undefined && given === text),
    presented: ({ step, text: given }) =>
      given === shown?.text ? shown : whole(given, step === 'preview' || step === 'full' ? 'none' : step),
  }
}

/** A guard's own view is good as long as it fits; beyond that the presenter knows the budget. */
async function viewWithin(
  deps: EngineDeps,
  { tenant }: Branch,
  { countTokens, readers, now }: ResultScale,
  { text, binary, tool, handle }: ResultSource,
  { maxTokens, previewTokens }: { readonly maxTokens: number; readonly previewTokens: number },
): Promise<Presented> {
  const options: PresentOptions = {
    budgetTokens: Math.floor(Math.min(maxTokens, previewTokens)),
    countTokens,
    handle: handle(),
    readers,
    tool,
    now,
  }
  if (binary !== undefined) return deps.present(binary, options)
  const clean = deps.redact?.(text) ?? text
  const { files = '' } = deps.policy.intake.guard ?? {}
  // A shell reads all of a folder: with several tenants there are handles only.
  const file = files === '' || tenant !== 'local' ? undefined : deps.fileFor?.(files, tool, options.handle)
  const guarded = guardedView(deps.policy, clean, { ...options, file })
  if (guarded !== undefined && countTokens(guarded.text) <= maxTokens) return guarded
  return deps.presentLong?.(clean, options) ?? deps.present(clean, options)
}

/** The budget of a policy on a limit, with what was used so far. */
export function budgetOf(
  { intake }: Policy,
  { limitTokens, countTokens }: ResultScale,
  used: BudgetSnapshot,
  room?: () => number,
): ToolBudget {
  const { turnShare, turnTokens, sessionTokens, tools, withinWindow, minPreviewTokens } = intake.budget ?? {}
  const turn = Math.min(turnTokens ?? Infinity, (turnShare ?? Infinity) * limitTokens)
  const { previewTokens } = sizesOf(intake, limitTokens)
  return toolBudget({
    countTokens,
    used,
    minPreviewTokens: Math.max(1, Math.min(minPreviewTokens ?? MIN_PREVIEW_TOKENS, previewTokens)),
    turnTokens: turn < Infinity ? Math.floor(turn) : undefined,
    sessionTokens,
    tools,
    room: withinWindow === true ? room : undefined,
  })
}

/** Whether a preset's guard would not let this result through as it is. */
export const isLarge = (policy: Policy, text: string): boolean =>
  policy.intake.guard !== undefined &&
  (triggeredBy(text, policy.intake.guard) !== undefined || designOf(policy).stops?.(text) === true)

/** A large result as the preset shows it, always with the address of the original; undefined where it is not large, or the preset has no view. */
function guardedView(policy: Policy, text: string, options: PresentOptions): Presented | undefined {
  const { guard } = policy.intake
  if (guard === undefined || !isLarge(policy, text)) return undefined
  const started = options.now?.()
  const shown = designOf(policy).guard?.(guard, text, options)
  if (shown === undefined) return undefined
  const { report, about } = describeOutput(text, shown.text, shown.text === text ? 'none' : 'head-tail')
  const elapsed = started === undefined ? {} : { processing_ms: options.now!() - started }
  return {
    text: shown.text,
    about: { ...about, file: options.file },
    report: { ...report, ...shown.metadata, ...elapsed },
  }
}
