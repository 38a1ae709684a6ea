import type { Conversation, EnvelopeChanges, NewTool } from './conversation.ts'
import { PlimsollError } from './errors.ts'
import type { Item, ToolDeclaration } from './item.ts'

/** One change to the view. Pure data: it can be shown, stored, re-applied and undone. */
export type Edit =
  | { readonly op: 'drop'; readonly id: string; readonly reason: string }
  /** Replaces the text; `handle` is the address of the original. */
  | {
      readonly op: 'replace'
      readonly id: string
      readonly text: string
      readonly reason: string
      readonly handle?: string
    }
  /** Inserts a message before the item `before`; without `before`, at the end of the history. */
  | {
      readonly op: 'insert'
      readonly id: string
      readonly role: 'user' | 'assistant'
      readonly text: string
      readonly reason: string
      readonly before?: string
    }

export type Plan = readonly Edit[]

/** Edited items by their originals: the same edit of an item gives the same object, so that caches keyed by item hit. */
export type EditedItems = WeakMap<Item, Item>

/** Applies a plan. Unknown ids are an error: an edit that silently does nothing would be reported as a saving. */
export function applyEdits<T extends Pick<Conversation, 'items'>>(
  conversation: T,
  edits: Plan,
  known?: EditedItems,
): T {
  if (edits.length === 0) return conversation
  const replaced = new Map<string, string>()
  const dropped = new Set<string>()
  const before = new Map<string, Item[]>()
  const last: Item[] = []
  for (const edit of edits) {
    if (edit.op === 'drop') dropped.add(edit.id)
    else if (edit.op === 'replace') replaced.set(edit.id, edit.text)
    else if (edit.before === undefined) last.push(insertedItem(edit))
    else before.set(edit.before, [...(before.get(edit.before) ?? []), insertedItem(edit)])
  }
  const unused = new Set([...dropped, ...replaced.keys(), ...before.keys()])
  const items: Item[] = []
  for (const item of conversation.items) {
    unused.delete(item.id)
    items.push(...(before.get(item.id) ?? []))
    if (dropped.has(item.id)) continue
    const text = replaced.get(item.id)
    items.push(text === undefined ? item : replaceText(item, text, known))
  }
  if (unused.size > 0) {
    throw new PlimsollError(
      'bad-input',
      `The plan edits items that the conversation does not have: ${[...unused].slice(0, 5).join(', ')}.`,
    )
  }
  return { ...conversation, items: [...items, ...last] }
}

/** Restores items of a hidden step, which the client never saw. Client items that contain the same content are removed. */
export interface Restoration {
  readonly items: readonly Item[]
  /** The item before which they are inserted; without it, at the end. */
  readonly before?: string
  readonly instead: readonly string[]
  /** The rest of a client item whose text began with the restored text. */
  readonly rest?: Item
}

/** Restores hidden steps before any decision: the history as the model has it. */
export function restore(conversation: Conversation, restorations: readonly Restoration[]): Conversation {
  if (restorations.length === 0) return conversation
  const gone = new Set(restorations.flatMap(({ instead }) => instead))
  const rests = new Map(restorations.flatMap(({ rest }) => (rest === undefined ? [] : [[rest.id, rest] as const])))
  const before = new Map<string | undefined, Item[]>()
  for (const each of restorations) before.set(each.before, [...(before.get(each.before) ?? []), ...each.items])
  const items = conversation.items.flatMap((item) => {
    const own = gone.has(item.id) ? [] : [rests.get(item.id) ?? item]
    return [...(before.get(item.id) ?? []), ...own]
  })
  return { ...conversation, items: [...items, ...(before.get(undefined) ?? [])], isRestored: true }
}

export function changeEnvelope(conversation: Conversation, changes: EnvelopeChanges): Conversation {
  const all = { ...conversation.changes, ...changes }
  const { keepTools } = changes
  // Tools added earlier stay only when `keepTools` names them.
  if (keepTools === undefined || changes.addTools !== undefined || all.addTools === undefined)
    return { ...conversation, changes: all }
  const addTools = all.addTools.filter(({ name }) => keepTools.includes(name))
  return { ...conversation, changes: { ...all, addTools } }
}

export const declaration = (tool: NewTool): ToolDeclaration => ({ name: tool.name, text: JSON.stringify(tool) })

/** Appends tool declarations. `tools` lists all declared tools; `addTools` those that the client's text does not have. */
export function declareTools(
  conversation: Conversation,
  added: readonly NewTool[],
  declarationOf: (tool: NewTool) => ToolDeclaration = declaration,
): Conversation {
  if (added.length === 0) return conversation
  const declared = added.map(declarationOf)
  return { ...changeEnvelope(conversation, { addTools: added }), tools: [...conversation.tools, ...declared] }
}

/** Media is dropped together with the text: the replacement stands for both. */
function replaceText(item: Item, text: string, known: EditedItems | undefined): Item {
  const before = known?.get(item)
  if (before?.text === text) return before
  const { media: _, ...rest } = item
  const edited: Item = { ...rest, text, edited: true }
  known?.set(item, edited)
  return edited
}

function insertedItem(edit: Extract<Edit, { op: 'insert' }>): Item {
  return { id: edit.id, kind: edit.role, role: edit.role, text: edit.text, message: -1 }
}
