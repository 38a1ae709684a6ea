import { alignChain, type Link } from '../../core/chain.ts'
import type { Hash } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import { signOf } from '../hidden/steps.ts'

/** A request's history, as far as it tells conversations apart. */
export interface History {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/**
 * What a conversation is found again by: where its last request ended, and what it was answered. The second holds for clients that
 * rewrite their newest message before they send it again; both hold for nobody who only began alike.
 */
export interface Marks {
  readonly end: string
  readonly answer?: string
}

/** Answers that are looked at: somebody else may have given the newest ones. */
const NEWEST_ANSWERS = 3

export const endOf = ({ links }: History): string => links.at(-1)?.chain ?? ''

export const hasAnswer = ({ items }: History): boolean => items.some(({ role }) => role === 'assistant')

/** The marks that a request's conversation may have been left with, each with how much of the history it speaks for. */
export interface HistoryMarks {
  get(mark: string): number | undefined
}

/** Links that are looked at before all of them are put into a map: a conversation was left a call and its results ago. */
const NEWEST_LINKS = 8

export function marksIn(history: History, hash: Hash): HistoryMarks {
  const { items, links } = history
  const answers = new Map<string, number>()
  let next = links.length - 1
  /** Most often the newest is meant: an older one is worked out when all behind it were not the one. */
  function answerOf(mark: string): number | undefined {
    for (; next >= 0 && !answers.has(mark) && answers.size < NEWEST_ANSWERS; next--) {
      if (items[links[next]!.index]!.role !== 'assistant') continue
      const last = next
      while (next > 0 && items[links[next - 1]!.index]!.role === 'assistant') next--
      const said = links.slice(next, last + 1).map(({ index }) => items[index]!)
      // What was answered tells more than where the request ended.
      answers.set(answerMark(history, next, said, hash), last + 0.5)
    }
    return answers.get(mark)
  }
  let places: ReadonlyMap<string, number> | undefined
  const placeOf = (chain: string): number | undefined => {
    for (let place = links.length - 1; place >= Math.max(0, links.length - NEWEST_LINKS); place--)
      if (links[place]!.chain === chain) return place
    places ??= new Map(links.map((link, place) => [link.chain, place]))
    return places.get(chain)
  }
  return { get: (mark) => (isAnswer(mark) ? answerOf(mark) : placeOf(mark)) }
}

/** Shorter answers (“Done.”) are given to anybody. */
const LEAST_SIGN = 40
const COMMON = 'c:'
const OWN = 'a:'
/** Where a request ended is the hash of a chain. */
const isAnswer = (mark: string): boolean => mark.startsWith(COMMON) || mark.startsWith(OWN)

/** Of an answer that stands, or will stand, at a place of the history: what it is, and everything up to the answer before it. */
export function answerMark({ items, links }: History, place: number, said: readonly Item[], hash: Hash): string {
  const sign = signOf(said)
  let before = place - 1
  while (before >= 0 && items[links[before]!.index]!.role !== 'assistant') before--
  return `${sign.length < LEAST_SIGN ? COMMON : OWN}${hash(JSON.stringify([links[before]?.chain ?? '', sign])).slice(0, 16)}`
}

/** Fewer items than this say nothing about who rewrote what. */
const LEAST_REWRITTEN = 3
const REWRITTEN_SHARE = 0.9

/** Whether a client rewrote some of what it had sent: behind the place where the two part, nearly all is still there in order. */
export function isRewritten(before: readonly Link[], now: readonly Link[]): boolean {
  let shared = 0
  while (shared < before.length && before[shared]!.chain === now[shared]?.chain) shared++
  const covered = before.slice(shared).map(({ identity }) => identity)
  if (covered.length < LEAST_REWRITTEN) return false
  const { placed, matched } = alignChain(covered, now.slice(shared))
  const missing = covered.length - matched
  return placed.at(-1) !== undefined && missing <= Math.max(1, covered.length * (1 - REWRITTEN_SHARE))
}

/** How much of the history in `marks` a conversation that was left like this speaks for; negative when it does not. */
export function rankOf({ end, answer = '' }: Marks, marks: HistoryMarks): number {
  const atEnd = marks.get(end) ?? -1
  // Who holds both is meant before who holds the answer alone, and a common answer alone is nobody's.
  const told = answer === '' || (atEnd < 0 && answer.startsWith(COMMON)) ? -1 : (marks.get(answer) ?? -1)
  return told < 0 || atEnd < 0 ? Math.max(atEnd, told) : told + 0.25
}
