import { isUtf8 } from 'node:buffer'
import type { EventBody } from '../../core/events.ts'
import type { Handle } from '../../core/handles.ts'
import type { Limit, Target } from '../../core/target.ts'
import { modelName } from '../../core/model-name.ts'
import { RECORD_VERSION, type Audit } from '../../core/records.ts'
import { limitOf, modelOf, type Branch, neededOutput } from '../session/branch.ts'
import { asCounted, textTokensOf, limitFor } from '../prepare/counting.ts'
import type { EngineDeps } from '../deps.ts'
import { viewKey } from './derived.ts'
import { callHook, NOTE_CHARACTERS } from '../hooks.ts'
import { wellFormed, type ShowReport } from '../intake/index.ts'
import { appendTo } from '../session/log.ts'
import { putArtifact, reference } from '../store-admin/retention.ts'
import { budgetOf, countedFor, draftResult, type ResultDraft, type ResultScale } from './result-forms.ts'
import type { BudgetGrant, BudgetStep, MayRun, ToolBudget } from './tool-budget.ts'

export interface ToolResultRequest {
  readonly tool: string
  readonly callId?: string
  readonly output: string | Uint8Array
  /** The model that will read it; its window sets the size. @default the session's last one */
  readonly model?: string
  /** Its window, where the catalogue does not know it. @default as in the session's last request, else the catalogue's */
  readonly window?: number
}

export interface ShownResult {
  /** What goes into the conversation. */
  readonly text: string
  /** Where the exact bytes are, when the text is not all of them. */
  readonly artifact?: Handle
  readonly truncated: boolean
  readonly originalBytes: number
  readonly report: ToolResultReport
}

/** AutoSRE's metadata keys, Cyber-AutoAgent's compression fields, what the budget decided, and the record of the cut. */
interface ToolResultReport extends ShowReport {
  readonly processing_ms: number
  readonly step: BudgetStep
  readonly shownTokens: number
  readonly limit: Limit
  /** As it stands in the session's log. Absent when nothing was cut. */
  readonly audit?: Audit
}

export type ToolOutcome = { readonly shown: ShownResult } | { readonly error: unknown }

/** Shows results of tools that ran side by side: small ones stay whole, large ones share what the turn has left. */
export async function toolResults(
  deps: EngineDeps,
  branch: Branch,
  requests: readonly ToolResultRequest[],
): Promise<readonly ToolOutcome[]> {
  // One batch has one reader: results for another model are weighed on their own scale.
  const outcomes = new Map<ToolResultRequest, ToolOutcome>()
  for (const group of byTarget(requests)) {
    const { limit, scale, budget } = weighing(deps, branch, group[0]!)
    const drafts = group.map((request, index) => draftOf(deps, branch, scale, request, index))
    const grants = await budget.reserveBatch(drafts.map(({ draft }) => draft.forms))
    branch.toolUse = budget.snapshot()
    for (const [i, request] of group.entries()) {
      try {
        const shown = await keep(deps, branch, request, drafts[i]!, grants[i]!, limit)
        outcomes.set(request, { shown: await withNote(deps, branch, request, shown) })
      } catch (error) {
        outcomes.set(request, { error })
      }
    }
  }
  return requests.map((request) => outcomes.get(request)!)
}

/** Whether a result of this tool could still be shown; else the text that answers a call in its place. */
export function canExecute(deps: EngineDeps, branch: Branch, tool: string): MayRun {
  const closingTools = deps.policy.cascade.flatMap((step) => (step.step === 'final' ? step.tools : []))
  // What ends a session runs however full the window is.
  if (closingTools.includes(tool)) return { ok: true }
  if (!branch.log.toolBudgetExceeded) return weighing(deps, branch, {}).budget.canExecute(tool)
  const refusal = `${tool} was not run: an earlier result had no room in the context window. Answer with what you have; no further tool runs in this session.`
  return { ok: false, refusal }
}

function byTarget(requests: readonly ToolResultRequest[]): Iterable<ToolResultRequest[]> {
  const groups = new Map<string, ToolResultRequest[]>()
  for (const request of requests) {
    const key = JSON.stringify([request.model, request.window])
    groups.set(key, [...(groups.get(key) ?? []), request])
  }
  return groups.values()
}

/** The limit of the session's last request; for a named model or window, what a request like that one would have there. */
function weighing(
  deps: EngineDeps,
  branch: Branch,
  { model, window }: Pick<ToolResultRequest, 'model' | 'window'>,
): { readonly limit: Limit; readonly scale: ResultScale; readonly budget: ToolBudget } {
  const own = limitOf(branch)
  const isOwnModel = model === undefined || model === modelOf(branch)
  const isSame = isOwnModel && (window === undefined || window === own?.window)
  const target: Target = {
    model: modelName(model ?? modelOf(branch) ?? 'unknown'),
    window,
  }
  // Of a request that another process prepared only its limit is known, with what it held back for the answer.
  const maxOutputTokens = isOwnModel ? own?.outputReserve : undefined
  const asked = branch.requests.last?.asked ?? {
    format: '',
    settings: { stream: false, reasoning: false, maxOutputTokens },
  }
  const limit = (isSame ? own : undefined) ?? limitFor(deps, target, asked, neededOutput(branch))
  const { calibration } = branch.log
  const { last } = branch.requests
  const gauge = { ...target, estimated: !branch.log.isExact, calibration }
  const withinWindow = deps.policy.intake.budget?.withinWindow === true
  const weighed = { deps, branch, target, gauge }
  const countText = textTokensOf(withinWindow ? asCounted(weighed) : weighed)
  const scale: ResultScale = {
    limitTokens: limit.tokens,
    countTokens: (text) => countedFor(deps.policy, text, countText(text)),
    readers: last?.readers ?? new Map(),
    now: () => deps.clock.now(),
  }
  const room = (): number => limit.tokens - (last?.load.count[withinWindow ? 'tokens' : 'high'] ?? 0)
  return { limit, scale, budget: budgetOf(deps.policy, scale, branch.toolUse, room) }
}

interface Measured {
  readonly draft: ResultDraft
  readonly bytes: Uint8Array
  readonly handle: () => Handle
  readonly startedAt: number
}

function draftOf(
  deps: EngineDeps,
  branch: Branch,
  scale: ResultScale,
  { tool, callId, output }: ToolResultRequest,
  index: number,
): Measured {
  const startedAt = deps.clock.now()
  const bytes = typeof output === 'string' ? Buffer.from(output) : output
  const isBinary = typeof output !== 'string' && (!isUtf8(output) || output.includes(0))
  const text = isBinary ? '' : wellFormed(typeof output === 'string' ? output : Buffer.from(output).toString('utf8'))
  let handle: Handle | undefined
  const address = (): Handle => (handle ??= deps.addressOf(branch.tenant, bytes))
  const draft = draftResult(deps, branch, scale, {
    callId: callId ?? String(index),
    tool,
    text,
    binary: isBinary ? output : undefined,
    tokens: isBinary ? Math.ceil(bytes.length / 3) : scale.countTokens(text),
    handle: address,
  })
  return { draft, bytes, startedAt, handle: address }
}

/** The exact bytes are durable, and the cut is on record, before the view is handed out. */
async function keep(
  deps: EngineDeps,
  branch: Branch,
  { tool, callId, output }: ToolResultRequest,
  measured: Measured,
  grant: BudgetGrant,
  limit: Limit,
): Promise<ShownResult> {
  const { draft, bytes, startedAt } = measured
  const { text, report, about } = draft.presented(grant)
  const at = deps.clock.now()
  const full: ToolResultReport = {
    ...report,
    processing_ms: at - startedAt,
    step: draft.isWhole(grant) ? 'full' : grant.step,
    shownTokens: grant.tokens,
    limit,
  }
  const originalBytes = bytes.length
  if (full.step === 'full') return { text, truncated: false, originalBytes, report: full }
  const { derived } = draft
  const handle = derived?.handles[0] ?? measured.handle()
  if (derived !== undefined) await reference(deps, branch, derived.handles)
  else if (!(await putArtifact(deps, branch, bytes, { tool, callId, ...about })) && typeof output === 'string') {
    // Output that cannot be stored is not shortened: there is no other copy.
    return { text: output, truncated: false, originalBytes, report: { ...full, step: 'full' } }
  }
  const audit: Audit = {
    v: RECORD_VERSION,
    at,
    agent: branch.agent,
    type: 'audit',
    action: 'tool-result',
    reason: grant.reason ?? 'larger than one result may be',
    originalBytes,
    shownBytes: Buffer.byteLength(text),
    handle,
    tool,
    callId,
    view: viewKey(deps.hash, text),
    cause: grant.isWindow === true ? 'window' : undefined,
  }
  await appendTo(deps, branch, [audit])
  const { reason, shownBytes } = audit
  emitTo(deps, branch)({ type: 'item-offloaded', handle, originalBytes, shownBytes, reason })
  return { text, artifact: handle, truncated: true, originalBytes, report: { ...full, audit } }
}

const emitTo =
  (deps: EngineDeps, { tenant, session, agent }: Branch) =>
  (body: EventBody): void =>
    deps.emit({ ...body, tenant, session, agent, at: deps.clock.now() })

/** The note of a hook stands below the result, where there is one. */
async function withNote(
  deps: EngineDeps,
  branch: Branch,
  { tool, callId }: ToolResultRequest,
  shown: ShownResult,
): Promise<ShownResult> {
  const { tenant, session, agent } = branch
  const { text, artifact: handle, truncated, originalBytes } = shown
  const about = { tenant, session, agent, via: 'tool-result', tool, callId } as const
  const info = { ...about, text, truncated, originalBytes, handle }
  const answer = await callHook(deps.hooks, 'afterToolResult', info, emitTo(deps, branch))
  if (typeof answer?.note !== 'string' || answer.note === '') return shown
  const note = Array.from(answer.note.slice(0, 2 * NOTE_CHARACTERS))
    .slice(0, NOTE_CHARACTERS)
    .join('')
  return { ...shown, text: `${text}\n\n${note}` }
}
