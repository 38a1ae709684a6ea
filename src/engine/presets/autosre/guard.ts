import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { parseStructure } from '../../intake/json/json-view.ts'
import { isRecord } from '../../../core/values.ts'
import type { DesignView } from '../design.ts'
import { handleLargePayload } from './large-payload.ts'
import { guardSreResponse, SRE_GUARD_DEFAULTS } from './truncation-guard.ts'

/** The safety net stands behind the payload handler, whether that one is on, off or asked to let more through. */
export function autosreStops(_rule: GuardRule, text: string): boolean {
  const { maxChars, maxItems } = SRE_GUARD_DEFAULTS
  if (text.length > maxChars) return true
  // A list of more items than that has at least a character and a comma for each.
  if (text.length <= 2 * maxItems) return false
  const result = parseStructure(text)
  return Array.isArray(result) && result.length > maxItems
}

/** Statistics or a sample for large data; then the safety net. The design counts an object's keys as items, and characters as JSON. */
export function autosreGuard(
  { items, chars, sandbox = true }: GuardRule,
  text: string,
  { handle, tool, readers }: PresentOptions,
): DesignView {
  const handled = handleLargePayload(
    { result: parseStructure(text) ?? text },
    {
      handle,
      sandbox,
      config: { enabled: true, thresholdItems: items ?? Infinity, thresholdChars: chars ?? Infinity },
      ...(tool !== undefined && { tool }),
      tools: { ...named('run', readers.get('artifact_run')), ...named('read', readers.get('artifact_read')) },
    },
  )
  const { value } = guardSreResponse(handled.response, { handle })
  const result = isRecord(value) ? value['result'] : value
  const metadata = isRecord(value) && isRecord(value['metadata']) ? value['metadata'] : {}
  const { mode, size } = handled
  const template = metadata['template_used']
  // What was taken off a list stands beside it; everything else says so in itself.
  const isCutList = Array.isArray(result) && metadata['truncated_count'] !== undefined
  return {
    text: typeof result === 'string' ? result : JSON.stringify(isCutList ? value : result),
    metadata: {
      original_items: size.items,
      original_chars: size.chars,
      ...(mode !== undefined && { handling_mode: mode }),
      ...(typeof template === 'string' && { template_used: template }),
    },
  }
}

const named = (key: 'run' | 'read', tool: string | undefined): { run?: string; read?: string } =>
  tool === undefined ? {} : { [key]: tool }
