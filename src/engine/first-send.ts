import type { Link } from '../core/chain.ts'
import type { Item } from '../core/item.ts'
import { RECORD_VERSION, type FirstSendEdit } from '../core/records.ts'
import type { Handle } from '../core/handles.ts'
import type { Presenter } from './deps.ts'
import { keyOf } from './standing.ts'

export interface FirstSendInput {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
  /** Items that left before, whole or edited: only an epoch may touch those. */
  readonly wasSent: (link: Link) => boolean
  readonly hasEdit: (index: number) => boolean
  readonly tokensOf: (item: Item) => number
  readonly countText: (text: string) => number
  readonly handleOf: (text: string) => Handle
  readonly present: Presenter
  readonly readers: readonly string[]
  readonly maxTokens: number
  readonly previewTokens: number
  readonly now: number
}

export interface NewEdit {
  readonly index: number
  readonly record: FirstSendEdit
  readonly original: string
}

/** Results too large for the window are shown as preview + handle before they are sent for the first time. */
export function proposeFirstSend(input: FirstSendInput): NewEdit[] {
  const edits: NewEdit[] = []
  for (const link of input.links) {
    const item = input.items[link.index]!
    if (item.kind !== 'result' || item.sealed === true || input.hasEdit(link.index) || input.wasSent(link)) continue
    const tokens = input.tokensOf(item)
    if (tokens <= input.maxTokens) continue
    const handle = input.handleOf(item.text)
    const text = input.present(item.text, {
      budgetTokens: Math.floor(input.previewTokens),
      countTokens: input.countText,
      handle,
      ...(item.toolName !== undefined && { tool: item.toolName }),
      readers: input.readers,
    })
    if (input.countText(text) >= tokens) continue
    const record: FirstSendEdit = {
      v: RECORD_VERSION,
      at: input.now,
      type: 'edit',
      key: keyOf(input.items, link),
      text,
      reason: `${Math.ceil(tokens)} tokens are more than the ${Math.floor(input.maxTokens)} that one result may take`,
      handle,
    }
    edits.push({ index: link.index, record, original: item.text })
  }
  return edits
}
