import type { Handle } from '../../../core/handles.ts'
import { mediaBytes, type Item, type Media } from '../../../core/item.ts'
import type { EpochEdit } from '../../../core/records.ts'
import { NOTHING, storedText, type Draft, type PlannedSoFar, type Proposal, type StoredText } from './draft.ts'

/** What a line in place of a picture takes on the wire, at most. */
const LINE_BYTES = 400
/** What the model looks at now is rarely older than this many pictures. */
const NEWEST = 3

/**
 * Takes inline pictures and documents out of view, the oldest first, each behind a handle to its own bytes. Those that nothing
 * protects go down to `aimBytes`, so that the next picture does not start all over; the newest few, and those of the task, the newest
 * message, the open step and pins, go only as far as `limitBytes` demands.
 */
export function shedMedia(draft: Draft, { bytes, gone }: PlannedSoFar, aimBytes: number, limitBytes: number): Proposal {
  const { places } = draft
  const candidates = [...draft.items.keys()].filter(
    (index) => places[index]! >= 0 && !gone(index) && canShed(draft.items[index]!),
  )
  const free = candidates.filter((index) => !draft.keep.has(index))
  const held = candidates.filter((index) => draft.keep.has(index))
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  let left = bytes()
  const shed = (index: number): void => {
    edits.push(shedItem(draft, index, 'the limit of the body', stored))
    const { media = [] } = draft.items[index]!
    left -= mediaBytes(draft.items[index]!) - media.length * LINE_BYTES
  }
  for (const index of free.slice(0, -NEWEST)) if (left > aimBytes) shed(index)
  for (const index of free.slice(-NEWEST)) if (left > limitBytes) shed(index)
  for (const index of held) if (left > limitBytes) shed(index)
  return edits.length === 0 ? NOTHING : { edits, stored }
}

/** One item without its pictures: a line with a handle stands for each. */
export function shedItem(
  draft: Draft,
  index: number,
  within: string,
  stored: Map<Handle, StoredText>,
): EpochEdit & { readonly op: 'replace' } {
  const item = draft.items[index]!
  const files = new Map<Handle, StoredText>()
  const lines = mediaLines(draft, item, files)
  for (const [handle, file] of files) stored.set(handle, file)
  return {
    op: 'replace',
    at: draft.places[index]!,
    text: [item.text, ...lines].filter((line) => line !== '').join('\n'),
    reason: `${mediaBytes(item)} bytes of media taken out to stay within ${within}`,
    handle: [...files.keys()][0],
  }
}

export const canShed = (item: Item): boolean =>
  item.sealed !== true && item.serverSide !== true && mediaBytes(item) > 2 * LINE_BYTES

/** One line for each picture; the bytes that its handle opens are put to what is stored. */
export function mediaLines(draft: Draft, item: Item, stored: Map<Handle, StoredText>): string[] {
  const reader = draft.readers.get('artifact_read')
  const how = reader === undefined ? '' : `; ${reader} tells more about it`
  return (item.media ?? []).map((media) => {
    if (media.data === undefined)
      return `[${nameOf(media)}: ${(media.reference ?? 'no longer in view').slice(0, LINE_BYTES / 2)}]`
    const content = Buffer.from(media.data, 'base64')
    const handle = draft.handleOf(content)
    stored.set(handle, { ...storedText(item), text: '', content, mime: media.mime })
    const size = `${content.length.toLocaleString('en')} bytes`
    return `[${nameOf(media)}, ${size}, taken out of view: stored as ${handle}${how}${adviceOn(media)}]`
  })
}

/** A picture's bytes cannot be read as text; of a document the model can ask for less. */
const adviceOn = ({ type }: Media): string =>
  type === 'document' || type === 'file'
    ? '. It did not fit into the context window; the user can send fewer pages of it, or its text'
    : ''

const nameOf = ({ type, mime, name }: Media): string =>
  [type, mime, name === undefined ? undefined : JSON.stringify(name.slice(0, 80))]
    .filter((part) => part !== undefined)
    .join(' ')
