import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { EpochEdit } from '../../../core/records.ts'
import { isJsonText } from '../../../core/values.ts'
import { fit } from '../../intake/show.ts'
import { cutHead, cutTail } from '../../intake/text.ts'
import { textResultsIn } from '../record/text-results.ts'
import {
  levelWithin,
  shownOf,
  storedText,
  WORDS_SHARE,
  type Draft,
  type PlannedSoFar,
  type Proposal,
  type StoredText,
} from './draft.ts'
import { canShed, shedItem } from './shed-media.ts'

export interface SqueezeOptions {
  /** No item is shown with fewer tokens than this. */
  readonly floorTokens: number
  /** What people wrote stays as it is. @default false */
  readonly spareUser?: boolean
  /** The same for their words alone: pictures and documents may give way. @default false */
  readonly spareWords?: boolean
}

/** Texts are not shown with less than this share of the limit while a call's arguments could give way instead. */
const COARSE_SHARE = 0.05
/** Nor with less than this share while what people wrote takes more than its own. */
const FINE_SHARE = 0.02

/** Results and what the model said; arguments of its calls; what people wrote. */
type Group = 'texts' | 'calls' | 'words'

interface Candidate {
  readonly item: Item
  readonly index: number
  readonly tokens: number
}

/**
 * Shows the largest items that are still in view as preview + handle, wherever they stand: open step and pasted user
 * messages included. "Never folded" is not "never shortened". Pictures cannot be shortened: those above the common height leave
 * whole, the oldest first, and only as many as it takes. Arguments of answered calls give way where all that does not do, and what people
 * wrote behind them: a result can be read again, and a task that lost its middle is another task.
 */
export async function squeeze(
  draft: Draft,
  excessTokens: number,
  { gone, shown: before }: Pick<PlannedSoFar, 'gone' | 'shown'>,
  options: SqueezeOptions,
): Promise<Proposal> {
  const { places } = draft
  // What another step made shorter already counts as that: else it would be shown at greater length again.
  const sizeOf = (item: Item, index: number): number => {
    const text = before.get(index)
    return text === undefined ? draft.tokensOf(item) : draft.countText(text)
  }
  const inView = draft.items
    .map((item, index): Candidate => ({ item, index, tokens: sizeOf(item, index) }))
    .filter(({ index, tokens }) => places[index]! >= 0 && !gone(index) && tokens > options.floorTokens * 1.5)
    .filter(({ item }) => options.spareUser !== true || item.role !== 'user' || item.kind === 'result')
  const { edits, stored, excess } = shedPictures(draft, excessTokens, inView, options)
  const largest = inView.filter(({ item }) => !holdsMedia(item)).sort((a, b) => b.tokens - a.tokens)
  const textResults = textResultsIn(draft.items)
  const isWords = (item: Item): boolean => item.kind === 'user' && !textResults.has(item)
  // A call that waits for its answer is still to be read by the client that runs it.
  const pending = new Set(draft.turns.pending)
  const groups: Readonly<Record<Group, readonly Candidate[]>> = {
    texts: largest.filter(({ item }) => canShorten(item) && !isWords(item)),
    calls: largest.filter(
      ({ item, index }) =>
        item.kind === 'call' && item.sealed !== true && item.serverSide !== true && !pending.has(index),
    ),
    words: options.spareWords === true ? [] : largest.filter(({ item }) => canShorten(item) && isWords(item)),
  }
  const floor = options.floorTokens
  const level = (share: number): number => Math.max(floor, Math.floor(share * draft.limitTokens))
  const instructions = draft.items.filter(({ kind }, index) => kind === 'instruction' && !gone(index))
  const head = instructions.reduce((sum, item) => sum + draft.tokensOf(item), draft.fixedTokens)
  const room = Math.max(0, draft.limitTokens - head)
  const ownShare = WORDS_SHARE * room
  const mostOfOne = Math.max(floor, Math.floor(shownOf(groups.words[0]?.tokens ?? 0, room)))
  const caps = capsFor(groups, Math.max(excess, freed(sizesOf(groups.words), mostOfOne)), [
    ['words', mostOfOne],
    ['texts', level(COARSE_SHARE)],
    ['calls', level(COARSE_SHARE)],
    ['texts', level(FINE_SHARE)],
    ['words', Math.max(floor, Math.floor(levelWithin(sizesOf(groups.words), ownShare)))],
    ['texts', floor],
    ['calls', floor],
    ['words', floor],
  ])
  const shorten = async (some: readonly Candidate[], cap: number, isSaid: boolean): Promise<void> => {
    for (const { item, index, tokens } of some) {
      if (tokens <= cap) break
      const handle = draft.handleOf(item.text)
      // What was counted too low as a whole is counted too low in its parts.
      const times = item.media === undefined ? tokens / Math.max(1, tokens - Math.max(0, draft.missedOf(item))) : 1
      const text = await shown(draft, item, Math.max(floor, Math.floor((cap * 0.9) / times)), handle, isSaid)
      if (text === undefined || draft.countText(text) >= tokens) continue
      edits.push({
        op: 'replace',
        at: places[index]!,
        text,
        handle,
        reason: `${Math.round(tokens)} tokens shown as a preview`,
      })
      stored.set(handle, storedText(item))
    }
  }
  for (const group of ['texts', 'calls', 'words'] as const) await shorten(groups[group], caps[group], group === 'words')
  return { edits: edits.sort((a, b) => placeOfEdit(a) - placeOfEdit(b)), stored }
}

async function shown(
  draft: Draft,
  item: Item,
  budgetTokens: number,
  handle: Handle,
  isSaid: boolean,
): Promise<string | undefined> {
  const options = { budgetTokens, countTokens: draft.countText, handle }
  if (item.kind === 'call') return shortenCall(item.text, options)
  const { toolName: tool, isFile } = item
  const ends = isSaid && isFile !== true ? endsOf(item.text, budgetTokens) : (['', ''] as const)
  const room = budgetTokens - draft.countText(ends.join('\n'))
  const view = await draft.presentLong(item.text, { ...options, budgetTokens: room, tool, readers: draft.readers })
  const [head, tail] = ends.map((end) => (view.includes(end) ? '' : end))
  return [head, view, tail].filter((part) => part !== '').join('\n[…]\n')
}

/** How high each group may stand: they give way in the order of the stages, each down to its level at most. */
function capsFor(
  groups: Readonly<Record<Group, readonly Candidate[]>>,
  excess: number,
  stages: readonly (readonly [group: Group, level: number])[],
): Readonly<Record<Group, number>> {
  const caps: Record<Group, number> = { texts: Infinity, calls: Infinity, words: Infinity }
  let missing = excess
  for (const [group, level] of stages) {
    if (missing <= 0) break
    const sizes = sizesOf(groups[group])
    missing += freed(sizes, caps[group])
    caps[group] = levelFor(sizes, missing, level)
    missing -= freed(sizes, caps[group])
  }
  return caps
}

/** Characters of either end of a message that stand beside a view of what was pasted into it: there people say what is to be done with it. */
const MOST_OF_END = 400

function endsOf(text: string, budgetTokens: number): readonly [head: string, tail: string] {
  const most = Math.min(MOST_OF_END, Math.floor(budgetTokens))
  return text.length <= 2 * most ? ['', ''] : [cutHead(text, most).trim(), cutTail(text, most).trim()]
}

const freed = (sizes: readonly number[], cap: number): number =>
  sizes.reduce((sum, size) => sum + Math.max(0, size - cap), 0)

/** Takes out pictures as long as one of them stands above the height that everything else would be cut to. */
function shedPictures(
  draft: Draft,
  excessTokens: number,
  inView: readonly Candidate[],
  { floorTokens }: SqueezeOptions,
): { edits: EpochEdit[]; stored: Map<Handle, StoredText>; excess: number } {
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  let excess = excessTokens
  let left = inView.filter(({ item }) => canShorten(item) || holdsMedia(item))
  while (excess > 0) {
    const cap = levelFor(sizesOf(left), excess, floorTokens)
    const oldest = left.find(({ item, tokens }) => holdsMedia(item) && tokens > cap)
    if (oldest === undefined) break
    const files = new Map<Handle, StoredText>()
    const edit = shedItem(draft, oldest.index, 'the window', files)
    left = left.filter((candidate) => candidate !== oldest)
    const gain = oldest.tokens - draft.countText(edit.text)
    if (gain <= 0) continue
    edits.push(edit)
    for (const [handle, file] of files) stored.set(handle, file)
    excess -= gain
  }
  return { edits, stored, excess }
}

const sizesOf = (candidates: readonly Candidate[]): number[] => candidates.map(({ tokens }) => tokens)

const holdsMedia = (item: Item): boolean => item.media !== undefined && canShed(item)

const canShorten = ({ kind, sealed, serverSide }: Item): boolean =>
  sealed !== true && serverSide !== true && (kind === 'result' || kind === 'user' || kind === 'assistant')

const placeOfEdit = (edit: EpochEdit): number => ('at' in edit ? edit.at : edit.from)

/**
 * The common height to cut the largest down to, so that together they give up the excess: like levelling a pile of sand. In whole tokens:
 * a billionth that is left over would cut the next group too.
 */
const levelFor = (sizes: readonly number[], excess: number, floor: number): number =>
  Math.max(floor, Math.floor(levelWithin(sizes, freed(sizes, 0) - excess)))

export interface ShortenOptions {
  readonly budgetTokens: number
  readonly countTokens: (text: string) => number
  /** Opens the whole arguments. */
  readonly handle: Handle
}

/** Shorter values than this are names and paths: they say what the call was about. */
const LEAST_CHARACTERS = 200
/** One JSON string, and the colon that makes it a key. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/**
 * A call's arguments with long texts cut in their middle. Keys, numbers, short values and the shape stay byte for byte, since a
 * provider checks that arguments are an object; the mark says that the cut is ours, since models copy what they see. Where even that
 * is more than asked for, the shortest there is. Undefined when there is nothing to cut.
 */
export function shortenCall(text: string, { budgetTokens, countTokens, handle }: ShortenOptions): string | undefined {
  const render = isJsonText(text)
    ? (keep: number): string =>
        text.replace(STRING, (token: string, colon?: string) => {
          if (colon !== undefined || token.length <= LEAST_CHARACTERS) return token
          const value = JSON.parse(token) as string
          const cut = cutMiddle(value, keep, handle)
          return cut === value ? token : JSON.stringify(cut)
        })
    : (keep: number): string => cutMiddle(text, keep, handle)
  const fitted = fit((keep) => ({ value: keep, text: render(keep) }), budgetTokens, countTokens)
  const shortened = fitted?.text ?? render(0)
  return shortened === text ? undefined : shortened
}

function cutMiddle(value: string, keep: number, handle: Handle): string {
  const half = Math.floor(Math.max(LEAST_CHARACTERS / 2, keep) / 2)
  const left = value.length - 2 * half
  if (left < LEAST_CHARACTERS) return value
  const tail = value.slice(-half).replace(/^[\uDC00-\uDFFF]/, '')
  return (
    `${cutHead(value, half)}\n[… ${left.toLocaleString('en')} characters of this call are out of view; it was made with all of them. ` +
    `Stored as ${handle} …]\n${tail}`
  )
}
