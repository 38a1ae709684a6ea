import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { parseStructure } from '../../intake/json/json-size.ts'
import { isRecord } from '../../../core/values.ts'
import type { DesignView } from '../design.ts'
import { handleLargePayload } from './large-payload.ts'
import { guardSreResponse } from './truncation-guard.ts'

/** Statistics or a sample for large data; then the safety net. The design counts an object's keys as items, and characters as JSON. */
export function autosreGuard(
  { items, chars, sandbox = true }: GuardRule,
  text: string,
  { handle, tool, readers }: PresentOptions,
): DesignView {
  const analysisTool = readers.get('artifact_run') ?? readers.get('artifact_read')
  const handled = handleLargePayload(
    { result: parseStructure(text) ?? text },
    {
      handle,
      sandbox,
      config: { enabled: true, thresholdItems: items ?? Infinity, thresholdChars: chars ?? Infinity },
      ...(tool !== undefined && { tool }),
      ...(analysisTool !== undefined && { analysisTool }),
    },
  )
  const { value } = guardSreResponse(handled.response, { handle })
  const result = isRecord(value) ? value['result'] : value
  const metadata = isRecord(value) && isRecord(value['metadata']) ? value['metadata'] : {}
  const { mode, size } = handled
  const template = metadata['template_used']
  return {
    text: typeof result === 'string' ? result : JSON.stringify(result),
    metadata: {
      original_items: size.items,
      original_chars: size.chars,
      ...(mode !== undefined && { handling_mode: mode }),
      ...(typeof template === 'string' && { template_used: template }),
    },
  }
}
