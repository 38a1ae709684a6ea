import type { Handle } from '../../../../core/handles.ts'
import type { Item } from '../../../../core/item.ts'
import type { CompressStep } from '../../../../core/policy.ts'
import type { EpochEdit } from '../../../../core/records.ts'
import {
  compressCyberInput,
  compressCyberResult,
  CYBER_DEFAULTS,
  type CyberLimits,
} from '../../../presets/cyber-autoagent/compress.ts'
import { isRecord } from '../../../../core/values.ts'
import { linkPlaces, storedText, type Draft, type Proposal, type StoredText } from '../draft.ts'
import { between } from '../zones.ts'

/** Below this many messages there is nothing old enough to compress. */
const SMALL_CONVERSATION = 3

/**
 * Cyber-AutoAgent's layer 1 on what stands between the zones. Inputs of calls keep their structure; their cut values say that they
 * are cut, since models copy what they see into new calls.
 */
export function compressResults(draft: Draft, step: CompressStep): Proposal {
  const { from, to } = between(draft, step)
  const limits: CyberLimits = { ...CYBER_DEFAULTS, compressChars: step.fromChars, truncateChars: step.toChars }
  const places = linkPlaces(draft)
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  if (draft.turns.steps.length < SMALL_CONVERSATION) return { edits, stored }
  for (let index = from; index < to; index++) {
    const item = draft.items[index]!
    if (places[index]! < 0 || item.sealed === true || item.serverSide === true) continue
    const text =
      item.kind === 'result' ? resultText(item, limits) : item.kind === 'call' ? inputText(item, limits) : undefined
    if (text === undefined || text.length >= item.text.length) continue
    const handle = draft.handleOf(item.text)
    edits.push({
      op: 'replace',
      at: places[index]!,
      text: item.kind === 'result' ? `${text}\n[complete: ${handle}]` : text,
      handle,
      reason: `${item.text.length} characters compressed`,
    })
    stored.set(handle, storedText(item))
  }
  return { edits, stored }
}

function resultText({ text }: Item, limits: CyberLimits): string | undefined {
  const json = text.startsWith('{') || text.startsWith('[') ? parse(text) : undefined
  const block = json === undefined ? { text } : { json }
  const { value, cuts } = compressCyberResult({ content: [block] }, limits)
  if (cuts.length === 0 || !isRecord(value) || !Array.isArray(value['content'])) return undefined
  return value['content']
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : jsonOf(part)))
    .join('\n')
}

const jsonOf = (part: unknown): string => JSON.stringify(isRecord(part) ? part['json'] : part)

function inputText({ text }: Item, limits: CyberLimits): string | undefined {
  const { value, cuts } = compressCyberInput(parse(text), limits)
  return cuts.length === 0 ? undefined : JSON.stringify(value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
