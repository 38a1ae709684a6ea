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

/** A request whose client sends no name for the conversation. */
export interface Unnamed extends History, Kin {
  readonly tenant: string
}

/** One request of a conversation that is in progress. */
export interface Visit {
  readonly name: string
  /** The client got an answer, by which its next request is recognised. */
  answered(said: readonly Item[]): Promise<void>
  /** The client got no answer, so it may send the same request again. */
  failed(): void
}

export type Conversations = ReturnType<typeof createConversations>

interface ConversationsDeps {
  readonly store: Pick<SessionStore, 'getValue' | 'setValue' | 'lease' | 'releaseLease' | 'version'>
  readonly hash: Hash
  /** Other processes serve the same conversations, so names are decided in the store, not in memory. */
  readonly isShared: boolean
}

/** A request with its keys: of the conversations with the same beginning, and of the stored value that contains them. */
interface Placed extends Unnamed {
  readonly alike: string
  readonly group: string
  readonly inOrder: ReturnType<typeof mutex>
}

/** The last state of each conversation of a group, by key; the most recently used is last. */
type Group = ReadonlyMap<string, Marks>

/** Unanswered requests of one conversation: the chain hash of each end, and the number of requests there. */
interface UnderWay {
  readonly end: string
  count: number
}

/** The most stored values per tenant, and conversations per value. A forgotten conversation continues under a new name. */
const GROUPS = 4_096
const MOST_IN_GROUP = 64
const MOST_KNOWN = 2_000
/** The most chain links that are kept to recognise rewritten histories; one history takes at most a quarter of them. */
const MOST_LINKS = 20_000
const STRIPES = 64
const LEASE_MS = 60_000
const LOCK_MS = 2_000
const LOCK_WAIT_MS = 5
const LOCK_ATTEMPTS = 50

/**
 * Names conversations whose client sends no name. A request continues a conversation if it contains that conversation's last request or
 * its last answer; the same beginning alone is not enough. A client that rewinds or forks gets a new name: shared content is found by
 * its hash anyway, and pins, undo, budgets and the ledger stay with the first conversation.
 */
export function createConversations({ store, hash, isShared }: ConversationsDeps) {
  const groups = new BoundedMap<string, Group>(MOST_KNOWN)
  /** By the beginning, then by name. */
  const underWay = new Map<string, Map<string, UnderWay>>()
  /** Names by the end of an unanswered request. */
  const failed = new BoundedMap<string, string>(MOST_KNOWN)
  /** Ends of requests that this process answered: the same request again is no retry. */
  const answeredHere = new BoundedMap<string, true>(MOST_KNOWN)
  const histories = new BoundedMap<string, readonly Link[]>(MOST_LINKS)
  /** Serialises requests with the same beginning, so that only one becomes the first. */
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
    // If the store fails, memory is used alone.
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
    /** Conversations with the same beginning: the end of each, answered or in progress. */
    const began = new Map<string, Marks>(underWay.get(alike))
    for (const [key, left] of group) {
      const name = key.slice(alike.length)
      if (key.startsWith(alike) && !began.has(name)) began.set(name, left)
    }
    const marks = marksIn(request, hash)
    const hasAnswer = items.some(({ role }) => role === 'assistant')
    let best: { readonly name: string; readonly rank: number } | undefined
    for (const [name, left] of began) {
      // The same request again: the same conversation if it has more than one turn or another process answered; otherwise a new one.
      const isKnown = isRunning(request, name) || answeredHere.has(keyOf(request, name))
      if (left.end === end && isKnown && !hasAnswer) continue
      // Its answer distinguishes it from others, if there are any.
      const rank = rankOf(began.size === 1 && marks.has(left.end) ? { end: left.end } : left, marks)
      if (rank > (best?.rank ?? -1)) best = { name, rank }
    }
    if (best !== undefined || !hasAnswer) return best?.name
    return [...began.keys()].find((name) => {
      const before = histories.get(keyOf(request, name))
      return before !== undefined && !isRunning(request, name) && isRewritten(before, links)
    })
  }

  /** The first conversation is named by its beginning; others get a name that is not in use. */
  async function unused(request: Placed, group: Group): Promise<string> {
    const { base, tenant, scope } = request
    const isTaken =
      group.has(keyOf(request, base)) ||
      isRunning(request, base) ||
      (scope === '' && (await store.version(tenant, base).catch(() => 0)) > 0) ||
      (isShared && !(await leased(request, base, randomBytes(8).toString('hex'))))
    return isTaken ? anotherName(base) : base
  }

  /** If two proxies continue a conversation differently, the first one keeps its name. */
  const leased = (request: Placed, name: string, holder: string): Promise<boolean> =>
    store.lease(request.tenant, `conversation:${keyOf(request, name)}`, holder, LEASE_MS).catch(() => true)

  /** In memory at once; in the store when `written` resolves. */
  async function keep(request: Placed, name: string, marks: Marks): Promise<{ readonly written: Promise<unknown> }> {
    const { tenant, group: key } = request
    const group = new Map(await load(request))
    // It is the most recently used.
    group.delete(keyOf(request, name))
    group.set(keyOf(request, name), marks)
    for (const oldest of group.keys()) {
      if (group.size <= MOST_IN_GROUP) break
      group.delete(oldest)
    }
    groups.set(`${tenant}\n${key}`, group)
    return { written: store.setValue(tenant, key, JSON.stringify([...group]), false, { durable: 'soon' }) }
  }

  /** The same under a lock against other processes. Best effort: without it only a name can be lost, not a conversation. */
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
          // A later request of the conversation counts instead.
          const isNewest = running.get(name) === flight || !running.has(name)
          if (!isOver) leave()
          answeredHere.set(key, true)
          if (!isNewest) return undefined
          histories.set(key, request.links, Math.min(request.links.length + 1, MOST_LINKS / 4))
          const marks = { end, answer: answerMark(request, request.links.length, said, hash) }
          return isShared ? keepShared(request, name, marks) : keep(request, name, marks)
        })
        // Later requests find it in memory and need not wait for the store.
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
    /** The name for a request that is not recorded, such as a count. */
    async find(unnamed: Unnamed): Promise<string> {
      const request = placed(unnamed)
      return continued(request, await load(request)) ?? request.base
    },
  }
}

/** The history of a request, for the comparison of conversations. */
interface History {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/**
 * What identifies a conversation: the end of its last request, and its answers. Answers work for clients that
 * rewrite their newest message before they resend it. Neither matches another conversation with the same beginning only.
 */
interface Marks {
  readonly end: string
  readonly answer?: string
}

/** The newest answers that are compared; another model may have given the last ones. */
const NEWEST_ANSWERS = 3

const endOf = ({ links }: History): string => links.at(-1)?.chain ?? ''

/** The marks that the request's conversation may have, each with the length of the history that it covers. */
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
    // An answer is better evidence than the end of a request.
    marks.set(answerMark(history, place, said, hash), last + 0.5)
    answers++
  }
  return marks
}

/** Shorter answers (“Done.”) are too common to identify a conversation. */
const LEAST_SIGN = 40
const COMMON = 'c:'
const OWN = 'a:'
/** A hash of an answer at a position of the history, and of everything after the previous answer. */
function answerMark({ items, links }: History, place: number, said: readonly Item[], hash: Hash): string {
  const sign = signOf(said)
  let before = place - 1
  while (before >= 0 && items[links[before]!.index]!.role !== 'assistant') before--
  return `${sign.length < LEAST_SIGN ? COMMON : OWN}${hash(JSON.stringify([links[before]?.chain ?? '', sign])).slice(0, 16)}`
}

/** With fewer items it cannot be recognised that a client rewrote its history. */
const LEAST_REWRITTEN = 3
const REWRITTEN_SHARE = 0.9

/** Whether a client rewrote a part of its history: after the first difference, nearly all items are still there in order. */
function isRewritten(before: readonly Link[], now: readonly Link[]): boolean {
  let shared = 0
  while (shared < before.length && before[shared]!.chain === now[shared]?.chain) shared++
  const covered = before.slice(shared).map(({ identity }) => identity)
  if (covered.length < LEAST_REWRITTEN) return false
  const { placed, matched } = alignChain(covered, now.slice(shared))
  const missing = covered.length - matched
  return placed.at(-1) !== undefined && missing <= Math.max(1, covered.length * (1 - REWRITTEN_SHARE))
}

/** The length of the history in `marks` that a conversation with this state covers; negative if it does not match. */
function rankOf({ end, answer = '' }: Marks, marks: ReadonlyMap<string, number>): number {
  const atEnd = marks.get(end) ?? -1
  // A conversation that matches both is preferred to one that matches the answer only; a common answer alone is no match.
  const told = answer === '' || (atEnd < 0 && answer.startsWith(COMMON)) ? -1 : (marks.get(answer) ?? -1)
  return told < 0 || atEnd < 0 ? Math.max(atEnd, told) : told + 0.25
}
