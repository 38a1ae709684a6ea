import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Link, alignChain } from '../core/chain.ts'
import type { Hash } from '../core/identity.ts'
import type { Item } from '../core/item.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import { mutex } from '../util/mutex.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { anotherName, type Kin } from './identity.ts'
import { signOf } from './hidden/steps.ts'

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

export interface Conversations {
  enter(request: Unnamed): Promise<Visit>
  /** The name that a request goes on under, for questions that leave no trace. */
  find(request: Unnamed): Promise<string>
}

interface ConversationsDeps {
  readonly store: Pick<SessionStore, 'getValue' | 'setValue' | 'lease' | 'releaseLease' | 'version'>
  readonly hash: Hash
  /** Other processes serve the same conversations: the store decides, not memory. */
  readonly isShared: boolean
}

/** A request with what it is kept under: those that began alike, and the number that they fall under. */
interface Placed extends Unnamed {
  readonly alike: string
  readonly number: number
}

/** How conversations that fall into one group were left, by key; the one that was left last is the last. */
type Group = ReadonlyMap<string, Marks>

/** Requests of one conversation that have not been answered yet: where they end, and how many there are. */
interface UnderWay {
  readonly end: string
  count: number
}

/** What is known already, and will be in the store. */
interface Kept {
  readonly written: Promise<unknown>
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
 * its last answer; a beginning alone makes nobody the same. Who rewinds or forks goes on under a new name: what both hold is found by
 * its content anyway, and pins, undo, budgets and the ledger stay with the one that was first.
 */
export function createConversations({ store, hash, isShared }: ConversationsDeps): Conversations {
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

  const numbers = new BoundedMap<string, number>(MOST_KNOWN)
  const alikeIn = (tenant: string, { scope, base }: Kin): string => JSON.stringify([tenant, scope, base])
  const numberOf = (alike: string): number => {
    let number = numbers.get(alike)
    if (number === undefined) numbers.set(alike, (number = parseInt(hash(alike).slice(0, 8), 16)))
    return number
  }
  const placed = (unnamed: Unnamed): Placed => {
    const { tenant, scope, base, items, links } = unnamed
    const alike = alikeIn(tenant, unnamed)
    return { tenant, scope, base, items, links, alike, number: numberOf(alike) }
  }
  const keyOf = (request: Placed, name: string): string => `${request.alike}${name}`
  const groupOf = ({ number }: Placed): string => `conversations:${number % GROUPS}`
  const inOrder = <T>({ number }: Placed, task: () => Promise<T>): Promise<T> => orders[number % STRIPES]!(task)

  const held = (request: Placed): Group | undefined =>
    isShared ? undefined : groups.get(`${request.tenant}\n${groupOf(request)}`)

  async function load(request: Placed): Promise<Group> {
    const key = `${request.tenant}\n${groupOf(request)}`
    // Without the store memory has to do.
    const text = await store.getValue(request.tenant, groupOf(request)).catch(() => undefined)
    const group: Group =
      text === undefined ? (groups.get(key) ?? new Map()) : new Map(JSON.parse(text) as [string, Marks][])
    groups.set(key, group)
    return group
  }

  /** Conversations that began alike: where each was left, or is about to be. */
  function alike(request: Placed, group: Group): readonly (readonly [name: string, marks: Marks])[] {
    const { alike: own } = request
    const running = underWay.get(own)
    const found: (readonly [string, Marks])[] = []
    for (const [name, { end }] of running ?? []) found.push([name, { end }])
    for (const [key, marks] of group) {
      const name = key.startsWith(own) ? key.slice(own.length) : undefined
      if (name !== undefined && running?.has(name) !== true) found.push([name, marks])
    }
    return found
  }

  function continued(request: Placed, group: Group): string | undefined {
    const end = endOf(request)
    const again = failed.get(keyOf(request, end))
    if (again !== undefined) return again
    const marks = marksIn(request, hash)
    const began = alike(request, group)
    let best: { readonly name: string; readonly rank: number } | undefined
    for (const [name, left] of began) {
      // Asked again: the same conversation where it has gone on for a while or another process answered; else somebody who began alike.
      const isKnown = isRunning(request, name) || answeredHere.has(keyOf(request, name))
      if (left.end === end && isKnown && !hasAnswer(request)) continue
      // What it was answered tells it from others, where there are any.
      const rank = rankOf(began.length === 1 && marks.get(left.end) !== undefined ? { end: left.end } : left, marks)
      if (rank > (best?.rank ?? -1)) best = { name, rank }
    }
    return best?.name ?? rewritten(request, group)
  }

  const isRunning = (request: Placed, name: string): boolean => underWay.get(request.alike)?.has(name) === true

  function rewritten(request: Placed, group: Group): string | undefined {
    if (!hasAnswer(request)) return undefined
    for (const [name] of alike(request, group)) {
      const before = histories.get(keyOf(request, name))
      if (before !== undefined && !isRunning(request, name) && isRewritten(before, request.links)) return name
    }
    return undefined
  }

  /** The beginning's own name for the first, and for the others one that nobody has. */
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

  async function keep(request: Placed, name: string, marks: Marks): Promise<Kept> {
    const { tenant } = request
    const key = keyOf(request, name)
    const group = new Map(held(request) ?? (await load(request)))
    // It was left last.
    group.delete(key)
    group.set(key, marks)
    for (const oldest of group.keys()) {
      if (group.size <= MOST_IN_GROUP) break
      group.delete(oldest)
    }
    groups.set(`${tenant}\n${groupOf(request)}`, group)
    return { written: store.setValue(tenant, groupOf(request), JSON.stringify([...group]), false, { durable: 'soon' }) }
  }

  /** Nobody else writes the group meanwhile. Best effort: what is lost is a name, not a conversation. */
  async function alone(request: Placed, work: () => Promise<Kept>): Promise<Kept> {
    if (!isShared) return await work()
    const { tenant } = request
    const holder = randomBytes(8).toString('hex')
    for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
      if (await store.lease(tenant, groupOf(request), holder, LOCK_MS).catch(() => true)) break
      await setTimeout(LOCK_WAIT_MS)
    }
    try {
      const kept = await work()
      await kept.written
      return kept
    } finally {
      await store.releaseLease(tenant, groupOf(request), holder).catch(() => undefined)
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
    const leave = (): boolean => {
      if (isOver) return false
      isOver = true
      if (--flight.count > 0 || running.get(name) !== flight) return true
      running.delete(name)
      if (running.size === 0) underWay.delete(request.alike)
      return true
    }
    return {
      name,
      failed() {
        if (leave()) failed.set(keyOf(request, end), name)
      },
      async answered(said) {
        const kept = await inOrder(request, async () => {
          // What came after it in the conversation is what counts.
          const isNewest = running.get(name) === flight || !running.has(name)
          leave()
          answeredHere.set(key, true)
          if (!isNewest) return undefined
          histories.set(key, request.links, Math.min(request.links.length + 1, MOST_LINKS / 4))
          const answer = answerMark(request, request.links.length, said, hash)
          return alone(request, () => keep(request, name, { end, answer }))
        })
        // Those who come next in the same order know it from memory, and need not wait for it.
        await kept?.written
      },
    }
  }

  return {
    enter(unnamed) {
      const request = placed(unnamed)
      return inOrder(request, async () => {
        const group = held(request) ?? (await load(request))
        const name = continued(request, group)
        if (
          name !== undefined &&
          (!isShared || (await leased(request, `${name}\n${group.get(keyOf(request, name))?.end}`, endOf(request))))
        )
          return start(request, name)
        return start(request, await unused(request, group))
      })
    },
    async find(unnamed) {
      const request = placed(unnamed)
      return continued(request, held(request) ?? (await load(request))) ?? request.base
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
 * rewrite their newest message before they send it again; both hold for nobody who only began alike.
 */
interface Marks {
  readonly end: string
  readonly answer?: string
}

/** Answers that are looked at: somebody else may have given the newest ones. */
const NEWEST_ANSWERS = 3

const endOf = ({ links }: History): string => links.at(-1)?.chain ?? ''

const hasAnswer = ({ items }: History): boolean => items.some(({ role }) => role === 'assistant')

/** The marks that a request's conversation may have been left with, each with how much of the history it speaks for. */
interface HistoryMarks {
  get(mark: string): number | undefined
}

/** Links that are looked at before all of them are put into a map: a conversation was left a call and its results ago. */
const NEWEST_LINKS = 8

function marksIn(history: History, hash: Hash): HistoryMarks {
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
function answerMark({ items, links }: History, place: number, said: readonly Item[], hash: Hash): string {
  const sign = signOf(said)
  let before = place - 1
  while (before >= 0 && items[links[before]!.index]!.role !== 'assistant') before--
  return `${sign.length < LEAST_SIGN ? COMMON : OWN}${hash(JSON.stringify([links[before]?.chain ?? '', sign])).slice(0, 16)}`
}

/** Fewer items than this say nothing about who rewrote what. */
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
function rankOf({ end, answer = '' }: Marks, marks: HistoryMarks): number {
  const atEnd = marks.get(end) ?? -1
  // Who holds both is meant before who holds the answer alone, and a common answer alone is nobody's.
  const told = answer === '' || (atEnd < 0 && answer.startsWith(COMMON)) ? -1 : (marks.get(answer) ?? -1)
  return told < 0 || atEnd < 0 ? Math.max(atEnd, told) : told + 0.25
}
