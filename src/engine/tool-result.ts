import type { EventBody } from '../core/events.ts'
import type { Handle } from '../core/handles.ts'
import { RECORD_VERSION } from '../core/records.ts'
import type { Branch } from './branch.ts'
import type { EngineDeps } from './deps.ts'
import { callHook, NOTE_CHARACTERS } from './hooks.ts'
import { guardedText, isLarge } from './intake-guard.ts'
import { appendTo } from './restore.ts'

export interface ToolResultRequest {
  readonly tool: string
  readonly callId?: string
  readonly output: string | Uint8Array
  /** The model that will read it; its window sets the size. @default the session's last one */
  readonly model?: string
}

export interface ShownResult {
  /** What goes into the conversation. */
  readonly text: string
  /** Where the exact bytes are, when the text is not all of them. */
  readonly artifact?: Handle
  readonly truncated: boolean
  readonly originalBytes: number
}

/** Shows a tool's output, with the note of a hook below it where there is one and room for it. */
export async function toolResult(deps: EngineDeps, branch: Branch, request: ToolResultRequest): Promise<ShownResult> {
  const shown = await showResult(deps, branch, request)
  const { tenant, session, agent } = branch
  const place = { tenant, session, agent }
  const emit = (body: EventBody): void => deps.emit({ ...body, ...place, at: deps.clock.now() })
  const { text, artifact: handle, truncated, originalBytes } = shown
  const { tool, callId } = request
  const answer = await callHook(
    deps.hooks,
    'afterToolResult',
    {
      ...place,
      via: 'tool-result',
      tool,
      text,
      truncated,
      originalBytes,
      ...(callId !== undefined && { callId }),
      ...(handle !== undefined && { handle }),
    },
    emit,
  )
  if (typeof answer?.note !== 'string' || answer.note === '') return shown
  const note = Array.from(answer.note.slice(0, 2 * NOTE_CHARACTERS))
    .slice(0, NOTE_CHARACTERS)
    .join('')
  return { ...shown, text: `${text}\n\n${note}` }
}

/** Whole when it is small, else as preview + handle with the exact bytes stored first. */
async function showResult(deps: EngineDeps, branch: Branch, request: ToolResultRequest): Promise<ShownResult> {
  const { tool, callId, output } = request
  const bytes = typeof output === 'string' ? Buffer.from(output) : output
  const text = typeof output === 'string' ? output : Buffer.from(output).toString('utf8')
  const model = request.model ?? branch.model ?? 'unknown'
  const limit = deps.meter.limitOf({ model }, { stream: false, reasoning: false }, deps.policy.buffer)
  const gauge = { model, ...(branch.calibration !== undefined && { calibration: branch.calibration }) }
  const tokens = deps.meter.countText(gauge, text).high
  const { guard, maxShare, previewShare } = deps.policy.intake
  if (tokens <= maxShare * limit.tokens && !isLarge(guard, text))
    return { text, truncated: false, originalBytes: bytes.length }
  const stat = await deps.artifacts.put(branch.tenant, bytes, {
    session: branch.session,
    tool,
    ...(callId !== undefined && { callId }),
  })
  const clean = deps.redact?.(text) ?? text
  const options = {
    budgetTokens: Math.floor(previewShare * limit.tokens),
    countTokens: (part: string) => deps.meter.countText(gauge, part).high,
    handle: stat.handle,
    tool,
    readers: branch.readers,
  }
  const guarded = guard === undefined ? undefined : guardedText(guard, clean, options)
  const isSmall = guarded !== undefined && options.countTokens(guarded) <= maxShare * limit.tokens
  const shown = isSmall ? guarded : deps.present(clean, options)
  await appendTo(deps, branch, [
    {
      v: RECORD_VERSION,
      at: deps.clock.now(),
      type: 'audit',
      action: 'tool-result',
      reason: `${Math.ceil(tokens)} tokens are more than one result may take`,
      originalBytes: bytes.length,
      shownBytes: Buffer.byteLength(shown),
      handle: stat.handle,
    },
  ])
  return { text: shown, artifact: stat.handle, truncated: true, originalBytes: bytes.length }
}
