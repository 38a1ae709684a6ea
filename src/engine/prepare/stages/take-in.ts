import { storedText } from '../../epoch/cascade/draft.ts'
import { storeTexts } from '../../session/archive.ts'
import { keepAlive } from '../../store-admin/retention.ts'
import { newFirstSendEdits, type NewEdit } from '../../tool-results/first-send.ts'
import type { Standing } from '../standing.ts'
import type { Resolved } from './resolve-standing.ts'

/** A request with what stood for it, and what is shortened in it before its first send. */
export interface TakenIn extends Resolved {
  /** What stood before this request. */
  readonly found: Standing
  /** The same with the new edits. */
  readonly standing: Standing
  readonly edits: readonly NewEdit[]
}

/** Shortens new results that are too large. Their exact bytes are stored before any view mentions them. */
export async function takeIn(resolved: Resolved): Promise<TakenIn> {
  const { request, context, standing: found, moved } = resolved
  const { deps, branch, conversation } = context
  const shortened = newFirstSendEdits(context, found)
  const edits = shortened instanceof Promise ? await shortened : shortened
  if (edits.length === 0) {
    if (found.epoch !== undefined || found.firstSend.size > 0) await keepAlive(deps, branch, found)
    return { request, context, moved, found, standing: found, edits }
  }
  const originals = edits.flatMap(({ index, about }) =>
    about === undefined ? [] : [{ ...storedText(conversation.items[index]!), about }],
  )
  await storeTexts(deps, branch, originals)
  const added = edits.map(({ index, record }) => [index, record] as const)
  const standing = { ...found, firstSend: new Map([...found.firstSend, ...added]) }
  await keepAlive(deps, branch, standing)
  return { request, context, moved, found, standing, edits }
}
