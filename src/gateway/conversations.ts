/** One function is longer than 80 lines: all of it works on the five maps that tell which conversations there are. */

import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Link, alignChain } from '../core/chain.ts'
import type { Hash } from '../core/identity.ts'
import type { Item } from '../core/item.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import { mutex } from '../util/mutex.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { anotherName, type Kin } from './identity.ts'
import { signOf } from './hidden/session.ts'

/** A request without a name of its own. */
export interface Unnamed extends History, Kin {
  readonly tenant: string
}

/** One request of a conversation, under way. */
export interface Visit {
  readonly name: string
  /** The client got an answer: the next request is known by it. */
  answered(said: readonly Item[]): Promise<void>
  /** It got none: the same request may come again. */
  failed(): void
}

export type Conversations = ReturnType<typeof createConversations>

interface ConversationsDeps {
  readonly store: Pick<SessionStore, 'getValue' | 'setValue' | 'lease' | 'releaseLease' | 'version'>
  readonly hash: Hash
  /** Other processes serve the same conversations: the store decides, not memory. */
  readonly isShared: boolean
}

/** A request with what it is kept under: those that began alike, and the value of the store that they stand in with others. */
interface Placed extends Unnamed {
  readonly alike: string
  readonly group: string
  readonly inOrder: ReturnType<typeof mutex>
}

/** How the conversations of one group were left, by key; the one that was left last is the last. */
type Group = ReadonlyMap<string, Marks>

/** Requests of one conversation that have not been answered yet: where they end, and how many there are. */
interface UnderWay {
  readonly end: string
  count: number
}

/** Values that this takes in a tenant, at most, and conversations in each: who is forgotten goes on under a new name. */
const GROUPS = 4_096
const MOST_IN_GROUP = 64
const MOST_KNOWN = 2_000
/** Links of the histories that are kept to recognise a client that rewrites its own; one counts as a quarter of them at most. */
const MOST_LINKS = 20_000
const STRIPES = 64
const LEASE_MS = 60_000
const LOCK_MS = 2_000
const LOCK_WAIT_MS = 5
const LOCK_ATTEMPTS = 50

/**
 * Names for conversations whose client sends none. A request goes on with a conversation when it holds that one's last request whole, or
 * its last answer; a beginning alone does not make two the same. A client that rewinds or forks goes on under a new name: what both hold is found by
 * its content anyway, and pins, undo, budgets and the ledger stay with the one that was first.
 */
export function createConversations({ store, hash, isShared }: ConversationsDeps) {
  const groups = new BoundedMap<string, Group>(MOST_KNOWN)
  /** By what they began with, then by name. */
  const underWay = new Map<string, Map<string, UnderWay>>()
  /** Names by the end of a request that got no answer. */
  const failed = new BoundedMap<string, string>(MOST_KNOWN)
  /** Answered by this process: the same request once more is no retry. */
  const answeredHere = new BoundedMap<string, true>(MOST_KNOWN)
  const histories = new BoundedMap<string, readonly Link[]>(MOST_LINKS)
  /** Two that began alike at the same moment must not both be the first. */
  const orders = Array.from({ length: STRIPES }, mutex)

  const placed = (unnamed: Unnamed): Placed => {
    const alike = JSON.stringify([unnamed.tenant, unnamed.scope, unnamed.base])
    const number = parseInt(hash(alike).slice(0, 8), 16)
    return { ...unnamed, alike, group: `conversations:${number % GROUPS}`, inOrder: orders[number % STRIPES]! }
  }
  const keyOf = (request: Placed, name: string): string => `${request.alike}${name}`
  const isRunning = (request: Placed, name: string): boolean => underWay.get(request.alike)?.has(name) === true

  async function load({ tenant, group: key }: Placed): Promise<Group> {
    const known = groups.get(`${tenant}\n${key}`)
    if (known !== undefined && !isShared) return known
    // Without the store memory has to do.
    const text = await store.getValue(tenant, key).catch(() => undefined)
    const group: Group = text === undefined ? (known ?? new Map()) : new Map(JSON.parse(text) as [string, Marks][])
    groups.set(`${tenant}\n${key}`, group)
    return group
  }

  function continued(request: Placed, group: Group): string | undefined {
    const { alike, items, links } = request
    const end = endOf(request)
    const again = failed.get(keyOf(request, end))
    if (again !== undefined) return again
    /** Conversations that began alike: where each was left, or is about to be. */
    const began = new Map<string, Marks>(underWay.get(alike))
    for (const [key, left] of group) {
      const name = key.slice(alike.length)
      if (key.startsWith(alike) && !began.has(name)) began.set(name, left)
    }
    const marks = marksIn(request, hash)
    const hasAnswer = items.some(({ role }) => role === 'assistant')
    let best: { readonly name: string; readonly rank: number } | undefined
    for (const [name, left] of began) {
      // Asked again: the same conversation where it has gone on for a while or another process answered; else another that began alike.
      const isKnown = isRunning(request, name) || answeredHere.has(keyOf(request, name))
      if (left.end === end && isKnown && !hasAnswer) continue
      // What it was answered tells it from others, where there are any.
      const rank = rankOf(began.size === 1 && marks.has(left.end) ? { end: left.end } : left, marks)
      if (rank > (best?.rank ?? -1)) best = { name, rank }
    }
    if (best !== undefined || !hasAnswer) return best?.name
    return [...began.keys()].find((name) => {
      const before = histories.get(keyOf(request, name))
      return before !== undefined && !isRunning(request, name) && isRewritten(before, links)
    })
  }

  /** The beginning's own name for the first, and for the others one that is not in use. */
  async function unused(request: Placed, group: Group): Promise<string> {
    const { base, tenant, scope } = request
    const isTaken =
      group.has(keyOf(request, base)) ||
      isRunning(request, base) ||
      (scope === '' && (await store.version(tenant, base).catch(() => 0)) > 0) ||
      (isShared && !(await leased(request, base, randomBytes(8).toString('hex'))))
    return isTaken ? anotherName(base) : base
  }

  /** Of two proxies, the first to go on with a conversation in a way of its own does so under its name. */
  const leased = (request: Placed, name: string, holder: string): Promise<boolean> =>
    store.lease(request.tenant, `conversation:${keyOf(request, name)}`, holder, LEASE_MS).catch(() => true)

  /** Memory holds it at once; the store when `written` resolves. */
  async function keep(request: Placed, name: string, marks: Marks): Promise<{ readonly written: Promise<unknown> }> {
    const { tenant, group: key } = request
    const group = new Map(await load(request))
    // It was left last.
    group.delete(keyOf(request, name))
    group.set(keyOf(request, name), marks)
    for (const oldest of group.keys()) {
      if (group.size <= MOST_IN_GROUP) break
      group.delete(oldest)
    }
    groups.set(`${tenant}\n${key}`, group)
    return { written: store.setValue(tenant, key, JSON.stringify([...group]), false, { durable: 'soon' }) }
  }

  /** The same while no other process writes the group. Best effort: what is lost is a name, not a conversation. */
  async function keepShared(request: Placed, name: string, marks: Marks): Promise<undefined> {
    const { tenant, group } = request
    const holder = randomBytes(8).toString('hex')
    for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
      if (await store.lease(tenant, group, holder, LOCK_MS).catch(() => true)) break
      await setTimeout(LOCK_WAIT_MS)
    }
    try {
      await (
        await keep(request, name, marks)
      ).written
    } finally {
      await store.releaseLease(tenant, group, holder).catch(() => undefined)
    }
  }

  function start(request: Placed, name: string): Visit {
    const key = keyOf(request, name)
    const end = endOf(request)
    const running = underWay.get(request.alike) ?? new Map<string, UnderWay>()
    const known = running.get(name)
    const flight = known?.end === end ? known : { end, count: 0 }
    flight.count++
    underWay.set(request.alike, running.set(name, flight))
    failed.delete(keyOf(request, end))
    let isOver = false
    const leave = (): void => {
      isOver = true
      if (--flight.count > 0 || running.get(name) !== flight) return
      running.delete(name)
      if (running.size === 0) underWay.delete(request.alike)
    }
    return {
      name,
      failed() {
        if (isOver) return
        leave()
        failed.set(keyOf(request, end), name)
      },
      async answered(said) {
        const kept = await request.inOrder(async () => {
          // What came after it in the conversation is what counts.
          const isNewest = running.get(name) === flight || !running.has(name)
          if (!isOver) leave()
          answeredHere.set(key, true)
          if (!isNewest) return undefined
          histories.set(key, request.links, Math.min(request.links.length + 1, MOST_LINKS / 4))
          const marks = { end, answer: answerMark(request, request.links.length, said, hash) }
          return isShared ? keepShared(request, name, marks) : keep(request, name, marks)
        })
        // Those who come next in the same order know it from memory, and need not wait for it.
        await kept?.written
      },
    }
  }

  return {
    enter(unnamed: Unnamed): Promise<Visit> {
      const request = placed(unnamed)
      return request.inOrder(async () => {
        const group = await load(request)
        const name = continued(request, group)
        const isOurs =
          name !== undefined &&
          (!isShared || (await leased(request, `${name}\n${group.get(keyOf(request, name))?.end}`, endOf(request))))
        return start(request, isOurs ? name : await unused(request, group))
      })
    },
    /** The name that a request goes on under, for questions that leave no trace. */
    async find(unnamed: Unnamed): Promise<string> {
      const request = placed(unnamed)
      return continued(request, await load(request)) ?? request.base
    },
  }
}

/** A request's history, as far as it tells conversations apart. */
interface History {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/**
 * What a conversation is found again by: where its last request ended, and what it was answered. The second holds for clients that
 * rewrite their newest message before they send it again; both hold for no other that only began alike.
 */
interface Marks {
  readonly end: string
  readonly answer?: string
}

/** Answers that are looked at: another model may have given the newest ones. */
const NEWEST_ANSWERS = 3

const endOf = ({ links }: History): string => links.at(-1)?.chain ?? ''

/** The marks that a request's conversation may have been left with, each with how much of the history it speaks for. */
function marksIn(history: History, hash: Hash): ReadonlyMap<string, number> {
  const { items, links } = history
  const marks = new Map(links.map(({ chain }, place) => [chain, place]))
  const isAnswer = (place: number): boolean => items[links[place]?.index ?? -1]?.role === 'assistant'
  let answers = 0
  for (let place = links.length - 1; place >= 0 && answers < NEWEST_ANSWERS; place--) {
    if (!isAnswer(place)) continue
    const last = place
    while (isAnswer(place - 1)) place--
    const said = links.slice(place, last + 1).map(({ index }) => items[index]!)
    // What was answered tells more than where the request ended.
    marks.set(answerMark(history, place, said, hash), last + 0.5)
    answers++
  }
  return marks
}

/** Shorter answers (“Done.”) are given to anybody. */
const LEAST_SIGN = 40
const COMMON = 'c:'
const OWN = 'a:'
/** Of an answer that stands, or will stand, at a place of the history: what it is, and everything up to the answer before it. */
function answerMark({ items, links }: History, place: number, said: readonly Item[], hash: Hash): string {
  const sign = signOf(said)
  let before = place - 1
  while (before >= 0 && items[links[before]!.index]!.role !== 'assistant') before--
  return `${sign.length < LEAST_SIGN ? COMMON : OWN}${hash(JSON.stringify([links[before]?.chain ?? '', sign])).slice(0, 16)}`
}

/** Fewer items than this do not show that a client rewrote something. */
const LEAST_REWRITTEN = 3
const REWRITTEN_SHARE = 0.9

/** Whether a client rewrote some of what it had sent: behind the place where the two part, nearly all is still there in order. */
function isRewritten(before: readonly Link[], now: readonly Link[]): boolean {
  let shared = 0
  while (shared < before.length && before[shared]!.chain === now[shared]?.chain) shared++
  const covered = before.slice(shared).map(({ identity }) => identity)
  if (covered.length < LEAST_REWRITTEN) return false
  const { placed, matched } = alignChain(covered, now.slice(shared))
  const missing = covered.length - matched
  return placed.at(-1) !== undefined && missing <= Math.max(1, covered.length * (1 - REWRITTEN_SHARE))
}

/** How much of the history in `marks` a conversation that was left like this speaks for; negative when it does not. */
function rankOf({ end, answer = '' }: Marks, marks: ReadonlyMap<string, number>): number {
  const atEnd = marks.get(end) ?? -1
  // One that holds both is meant before one that holds the answer alone, and a common answer alone says nothing.
  const told = answer === '' || (atEnd < 0 && answer.startsWith(COMMON)) ? -1 : (marks.get(answer) ?? -1)
  return told < 0 || atEnd < 0 ? Math.max(atEnd, told) : told + 0.25
}
